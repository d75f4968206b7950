#pragma once
/// \file
/// The MIG requests that a cluster knows: how often each fits on a GPU in every state, and what putting it there loses.
/// Tables, made when a request is registered; the hot path reads them.

#include <cstddef>
#include <cstdint>
#include <span>

#include "berth/cluster/part_catalogue.hpp"
#include "berth/core/flat_array.hpp"
#include "berth/core/separate.hpp"
#include "berth/topology/mig_states.hpp"

namespace berth::detail {

/// Ranks of nodes on which parts fit into what is cut already: 0 loses the least of what could still be served.
inline constexpr unsigned part_ranks = 24;

class mig_requests {
 public:
  /// O(states × placements). Allocates. \pre the products outlive this
  void begin(const part_catalogue& c);
  /// States of all products together, and where those of one begin.
  [[nodiscard]] std::size_t states() const noexcept { return value_.size(); }
  [[nodiscard]] std::size_t first(std::size_t product) const noexcept { return at_[product]; }

  /// Registers a request, or finds an equal one; none past 65,534 of them, and where it says nothing about some
  /// product. O(states × ways to place the request). Allocates.
  [[nodiscard]] mig_request_id find_or_add(const mig_request& r);
  [[nodiscard]] bool knows(mig_request_id r) const noexcept { return r.index() < known_.size(); }
  [[nodiscard]] const mig_request& operator[](mig_request_id r) const noexcept { return known_[r.index()].what; }
  /// How many times a request fits on a GPU of a product in that state.
  [[nodiscard]] unsigned room(mig_request_id r, unsigned product, mig_state_id s) const noexcept {
    return known_[r.index()].room[at_[product] + s];
  }
  /// What the best way to put it there loses, as a rank below `part_ranks`.
  [[nodiscard]] unsigned rank(mig_request_id r, unsigned product, mig_state_id s) const noexcept {
    return known_[r.index()].rank[at_[product] + s];
  }
  [[nodiscard]] std::size_t memory() const noexcept { return states() * (4 + 2 * known_.size()); }

 private:
  struct entry {
    mig_request what;
    flat_array<std::uint8_t> room, rank;  ///< by product and state
  };
  struct way {
    unsigned times = 0;
    double worth = 0;
  };
  static constexpr double rank_step = 0.08;   ///< compute slices
  static constexpr double place_worth = 0.5;  ///< of a slice of an instance that could still be placed

  /// V of every state (`mig_state_values`), and a part of the slices of every instance that it still has a place for,
  /// by how often that is asked for: so that the last GPUs that can take a large instance are not nibbled at.
  void make_values(std::size_t p, const double* given);
  /// The most times a request fits, and the most that a state is worth together with the slices taken, if instances `i`
  /// and on of one are still to come.
  [[nodiscard]] way best_from(std::size_t p, const mig_request::on_product& want, unsigned i, mig_state_id s,
                              const flat_array<std::uint8_t>& room, unsigned last) const;

  std::span<const mig_state_table> products_;
  flat_array<std::uint32_t> at_;  ///< by product: its first state
  flat_array<float> value_;       ///< by product and state, in compute slices
  flat_array<entry> known_;
};

}  // namespace berth::detail

#if BERTH_WITH_BODIES
#include "berth/cluster/impl/mig_requests.hpp"
#endif
