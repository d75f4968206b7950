// The code of docs/packing.md.
#include <cstdint>
#include <span>
#include <vector>

#include "docs/pages.hpp"

// [packing]
#include "berth/policy/future_value.hpp"
#include "berth/solver/packer.hpp"

// Two tasks of half a GPU and eight cores each on two nodes; the GPUs of each that the first got.
std::vector<berth::packed_task> place_two() {
  berth::share_node node;
  node.cpu = berth::cpus(64);
  node.memory = berth::gibibytes(512);
  node.devices = 2;
  node.free[0] = node.free[1] = berth::whole_device;
  berth::packer<berth::future_value> pack{{node, node}, berth::future_value{}};

  berth::share_task task;
  task.cpu = berth::cpus(8);
  task.devices = 1;
  task.share = 500;  // thousandths of a GPU
  std::vector<berth::packed_task> out;
  for (int i = 0; i < 2; ++i)
    if (const auto where = pack.place(task)) out.push_back(*where);  // nothing: it fits nowhere now
  pack.release(task, out.back());                                    // when it ends
  return out;
}
// [end]

// [packing-simple]
struct emptiest_first {
  [[nodiscard]] berth::packing_score score(const berth::packing_view& v, const berth::share_task& t) const {
    return {static_cast<double>(v.now.free_total()), berth::tightest_choice(v.now, t)};
  }
};
static_assert(berth::explain_packing_policy<emptiest_first>::ok);
// [end]

// [packing-policy]
// Best fit, but GPU models that requests insisted on lately cost something, per GPU, for tasks that any model serves.
class spare_what_is_wanted {
 public:
  void begin(std::span<const berth::share_node>) { price_.resize(1 + berth::max_device_models); }
  void arrived(const berth::share_task& t, std::span<const berth::share_node>, std::span<const berth::share_node>) {
    ++requests_;
    if (!t.any_model()) {
      berth::for_each_bit(t.models, [&](unsigned m) { price_[1 + m].rate += 500; });
      ++moves_;
    }
    if (requests_ % 100 != 0) return;
    double most = 0;  // that any price falls by
    for (auto& p : price_) {
      const double fall = p.rate < 500 ? p.rate : 500.0;
      p.rate -= fall;
      most = fall > most ? fall : most;
    }
    drift_ += most * berth::max_shared_devices;  // no score has risen by more: rate × the largest amount
    ++moves_;
  }
  void changed(const berth::share_node&, const berth::share_node&, const berth::share_node&) {}
  [[nodiscard]] std::uint64_t version() const { return 0; }  // never changes its mind in another way
  [[nodiscard]] double drift(unsigned) const { return drift_; }
  [[nodiscard]] std::uint32_t moves(unsigned) const { return moves_; }
  [[nodiscard]] const berth::packing_charge* charges() const { return price_.data(); }

  [[nodiscard]] berth::packing_score score(const berth::packing_view& v, const berth::share_task& t) const {
    berth::packing_score s;
    s.devices = berth::tightest_choice(v.now, t);
    s.value = s.base = static_cast<double>(t.demand()) - v.now.free_total();
    if (!t.any_model() || t.devices == 0) return s;  // pays nothing: its score never moves
    s.drift = 1;
    s.charge = 1U + v.now.model;
    s.amount = t.devices;
    s.value = berth::charged(s.base, price_[s.charge], s.amount);
    return s;
  }

 private:
  std::vector<berth::packing_charge> price_;  // by model, from 1 on: 0 is no charge
  double drift_ = 0;
  std::uint32_t moves_ = 0, requests_ = 0;
};
static_assert(berth::charging_packing_policy<spare_what_is_wanted>);
// [end]

TEST_CASE("docs: a packing policy that charges takes another model once one is asked for by name") {
  berth::share_node node;
  node.cpu = berth::cpus(64);
  node.devices = 2;
  node.free[0] = node.free[1] = berth::whole_device;
  berth::share_node other = node;
  other.model = 1;
  berth::packer<spare_what_is_wanted> pack{{node, other, other}, {}};
  berth::share_task any, first;
  any.devices = first.devices = 1;
  any.share = first.share = berth::whole_device;
  first.models = 1;
  CHECK(pack.place(any)->node == 0);
  CHECK(pack.place(first)->node == 0);
  CHECK(pack.place(any)->node == 1);  // as node 0 is full
  pack.release(first, {0, 2, 0});
  CHECK(pack.place(any)->node == 1);  // though nodes 0 and 1 are equally tight
  pack.release(any, {1, 1, 0});
  pack.release(any, {1, 2, 0});
  CHECK(pack.place(any)->node == 0);  // tighter by 1000, dearer by 500
  pack.release(any, {0, 2, 0});
  for (int i = 0; i < 2; ++i) pack.release(first, *pack.place(first));
  CHECK(pack.place(any)->node == 1);  // dearer by 1500 now
  for (int i = 0; i < 300; ++i) pack.release(any, *pack.place(any));
  CHECK(pack.place(any)->node == 0);  // forgotten
}

TEST_CASE("docs: packing two halves uses one GPU") {
  const auto where = place_two();
  REQUIRE(where.size() == 2);
  CHECK(where[0].node == where[1].node);
  CHECK(where[0].devices == where[1].devices);
}
