#pragma once
/// \file
/// Cases of kind `sequence` after Flux's tests: matches one after another on one machine. Needs nlohmann-json.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/io/case/cluster.hpp"
#include "berth/io/case/value.hpp"
#include "berth/profile/flux.hpp"

namespace berth::case_io {

class flux_sequence {
 public:
  explicit flux_sequence(const case_question& q) : q_{q} {}
  [[nodiscard]] case_answer verdict() {
    if (auto ok = read_machine(); !ok) return unexpected{std::move(ok).error()};
    if (auto odd =
            unread(q_, "cluster usage steps",
                   {{"nodes", "name path capacity cores gpus", "node"},
                    {"steps", "op or_reserve request expect", "step"},
                    {"request", "name duration per_slot exclusive sockets within slots count hosts nodes", "request"}}))
      return std::move(*odd);
    const std::string pick = q_.policy_text("pick");
    if (pick.starts_with("highest id")) return answer<highest_number_first>();
    if (pick.starts_with("lowest id")) return answer<lowest_number_first>();
    return case_verdict::unsupported("picking " + pick);
  }

 private:
  /// The digits at the end of a name; 0 where there are none.
  [[nodiscard]] static std::int64_t number_of(std::string_view name) {
    std::size_t i = name.size();
    while (i > 0 && name[i - 1] >= '0' && name[i - 1] <= '9' && name.size() - i < 17) --i;
    return label_condition::whole(name.substr(i)).value_or(0);
  }
  [[nodiscard]] read<std::vector<std::int64_t>> numbers(const object& o, std::string_view key, bool ranges) const {
    std::vector<std::int64_t> out;
    auto items = o.items(key);
    if (!items) return unexpected{std::move(items).error()};
    for (const auto& i : **items) {
      if (i.type != json_value::kind::integer || i.integer < 0 || i.integer > 1'000'000)
        return o.wrong(key, i, "numbers of parts");
      out.push_back(i.integer);
    }
    if (!ranges || out.size() != 2 || out[1] < out[0]) return out;
    const auto first = out[0], last = out[1];
    out.clear();
    for (auto n = first; n <= last; ++n) out.push_back(n);
    return out;
  }
  [[nodiscard]] read<void> read_machine() {
    auto site = case_io::cluster(q_);
    if (!site) return unexpected{std::move(site).error()};
    const auto* c = q_.given("cluster");
    if (c == nullptr) return {};
    auto list = object{*c, q_.source}.items("nodes");
    if (!list) return unexpected{std::move(list).error()};
    for (std::size_t i = 0; i < site->nodes.size(); ++i) {
      const auto& n = site->nodes[i];
      const object o{(**list)[i], q_.source};
      if (n.path.size() < 2 || !n.path[n.path.size() - 2] || !n.path.back())
        return o.wrong("path", o.value(), "a host and a socket");
      flux::socket s;
      s.name = n.name;
      s.number = number_of(*n.path.back());
      const auto& name = *n.path[n.path.size() - 2];
      std::size_t h = 0;
      while (h < machine_.hosts.size() && machine_.hosts[h].name != name) ++h;
      if (h == machine_.hosts.size()) machine_.hosts.push_back({name, number_of(name), {}});
      s.host = h;
      auto cores = numbers(o, "cores", true), gpus = numbers(o, "gpus", false);
      if (!cores) return unexpected{std::move(cores).error()};
      if (!gpus) return unexpected{std::move(gpus).error()};
      s.cores = std::move(*cores);
      s.gpus = std::move(*gpus);
      s.memory = n.capacity.of("mem") / 1000;
      machine_.hosts[h].sockets.push_back(machine_.sockets.size());
      machine_.sockets.push_back(std::move(s));
    }
    return {};
  }
  [[nodiscard]] read<flux::request> request_of(const object& step) {
    flux::request r;
    const auto* v = step.given("request");
    if (v == nullptr) return step.wrong("request", step.value(), "a request");
    const object o{*v, q_.source};
    if (auto ok = o.is_object("request"); !ok) return unexpected{std::move(ok).error()};
    if (auto ok = o.integer("duration", r.duration, 1, max_count); !ok) return unexpected{std::move(ok).error()};
    auto each = amounts(o.given("per_slot"), "per_slot", q_.source);
    if (!each) return unexpected{std::move(each).error()};
    for (const auto& a : *each)
      if (a.thousandths < 0) return o.wrong("per_slot", *o.given("per_slot"), "amounts of at least 0");
    if ((each->of("cpu") % 1'000'000 != 0 || each->of("gpu") % 1000 != 0) && unknown_.empty())
      unknown_ = "parts of cores or GPUs in per_slot";
    r.each = {each->of("cpu") / 1'000'000, each->of("gpu") / 1000, each->of("mem") / 1000};
    std::string exclusive, within;
    if (auto ok = o.text("exclusive", exclusive); !ok) return unexpected{std::move(ok).error()};
    if (auto ok = o.text("within", within); !ok) return unexpected{std::move(ok).error()};
    if (exclusive == "socket") r.exclusive = flux::exclusive_part::socket;
    else if (exclusive == "host" || exclusive == "node") r.exclusive = flux::exclusive_part::host;
    else if (!exclusive.empty() && unknown_.empty()) unknown_ = "exclusive " + exclusive;
    r.on_one_host = r.exclusive != flux::exclusive_part::socket || !within.empty();
    for (const char* key : {"slots", "count", "hosts", "nodes"})
      if (o.given(key) != nullptr) {
        std::int64_t n = 1;
        if (auto ok = o.integer(key, n, 0, max_count); !ok) return unexpected{std::move(ok).error()};
        (r.exclusive == flux::exclusive_part::host ? r.hosts : r.sockets) = n;
      }
    if (auto ok = o.integer("sockets", r.sockets, 0, max_count); !ok) return unexpected{std::move(ok).error()};
    return r;
  }
  /// "placed at 0: node1/socket1 cores 35", pieces by name, parts by number.
  [[nodiscard]] std::string text(const std::optional<flux::placement>& p, bool with_gpus) const {
    if (!p) return "unschedulable";
    std::map<std::string, std::string> pieces;
    for (const auto& x : p->pieces)
      add_piece(pieces, machine_.sockets[x.socket].name, x.cores, with_gpus ? x.gpus : none_);
    return std::string{p->at == 0 ? "placed at " : "reserved at "} + std::to_string(p->at) + join(pieces);
  }
  static void add_piece(std::map<std::string, std::string>& to, const std::string& name,
                        std::vector<std::int64_t> cores, std::vector<std::int64_t> gpus) {
    auto& t = to[name];
    std::sort(cores.begin(), cores.end());
    std::sort(gpus.begin(), gpus.end());
    t += " cores";
    const auto list = [&t](const std::vector<std::int64_t>& numbers) {
      for (const auto n : numbers) {
        t += ' ';
        t += std::to_string(n);
      }
    };
    list(cores);
    if (!gpus.empty()) t += " GPUs";
    list(gpus);
  }
  [[nodiscard]] static std::string join(const std::map<std::string, std::string>& pieces) {
    std::string out;
    for (const auto& [name, parts] : pieces) {
      out += out.empty() ? ": " : ", ";
      out += name;
      out += parts;
    }
    return out;
  }
  /// What the step expects, in the same words; `gpus` tells whether it names any.
  [[nodiscard]] read<std::string> wanted(const object& step, bool& gpus) const {
    const auto* v = step.given("expect");
    if (v == nullptr) return step.wrong("expect", step.value(), "an expected answer");
    const object o{*v, q_.source};
    if (auto ok = o.is_object("expect"); !ok) return unexpected{std::move(ok).error()};
    std::string result;
    if (auto ok = o.text("result", result); !ok) return unexpected{std::move(ok).error()};
    if (result != "placed" && result != "reserved") return result;
    std::int64_t at = 0;
    if (auto ok = o.integer("at", at, 0, std::int64_t{1} << 60); !ok) return unexpected{std::move(ok).error()};
    auto list = o.items("placements");
    if (!list) return unexpected{std::move(list).error()};
    std::map<std::string, std::string> pieces;
    for (const auto& i : **list) {
      const object p{i, q_.source};
      std::string name;
      if (auto ok = p.text("node", name); !ok) return unexpected{std::move(ok).error()};
      auto cores = numbers(p, "cores", false), devices = numbers(p, "gpu_devices", false);
      if (!cores) return unexpected{std::move(cores).error()};
      if (!devices) return unexpected{std::move(devices).error()};
      gpus = gpus || !devices->empty();
      add_piece(pieces, name, std::move(*cores), std::move(*devices));
    }
    return result + " at " + std::to_string(at) + join(pieces);
  }
  template <class Pick>
  [[nodiscard]] case_answer answer() {
    flux::matcher<Pick> m{machine_};
    const object body{q_.body, q_.source};
    auto steps = body.objects("steps");
    if (!steps) return unexpected{std::move(steps).error()};
    std::string want, got;
    for (const auto& o : *steps) {
      std::string op;
      if (auto ok = o.text("op", op); !ok) return unexpected{std::move(ok).error()};
      if (op != "match") return case_verdict::unsupported("step " + op);
      bool reserve = false, gpus = false;
      if (auto ok = o.flag("or_reserve", reserve); !ok) return unexpected{std::move(ok).error()};
      auto r = request_of(o);
      if (!r) return unexpected{std::move(r).error()};
      if (!unknown_.empty()) return case_verdict::unsupported(unknown_);
      auto w = wanted(o, gpus);
      if (!w) return unexpected{std::move(w).error()};
      if (!want.empty()) want += "; ", got += "; ";
      want += *w;
      got += text(m.match(*r, reserve), gpus);
    }
    return case_verdict::compare(want, got);
  }

  const case_question& q_;
  flux::machine machine_;
  std::string unknown_;
  std::vector<std::int64_t> none_;
};

}  // namespace berth::case_io
