#pragma once
/// \file
/// Slurm's topology/torus3d: jobs get boxes of listed shapes at listed anchors. Whole nodes. Source: SchedMD/slurm
/// src/plugins/topology/torus3d/eval_nodes_torus3d.c, torus3d_record.c.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "berth/profile/slurm_tree.hpp"

namespace berth {

struct torus_cell {
  std::uint32_t x = 0, y = 0, z = 0;
};

/// A shape that jobs may have. It begins at `seed` and at every `spacing` from there, around the torus; a spacing of 0
/// is the shape's own size.
struct torus_shape {
  torus_cell size{1, 1, 1};
  torus_cell seed{};
  torus_cell spacing{};
};

/// One torus: `nodes[(z * size.y + y) * size.x + x]`, empty where no node is.
struct slurm_torus_part {
  torus_cell size{1, 1, 1};
  std::vector<std::optional<std::uint32_t>> nodes;
  std::vector<torus_shape> shapes;
};

class slurm_torus {
 public:
  /// Shapes that do not fit their torus, and anchors where a node is missing, are no places. O(anchors × box).
  explicit slurm_torus(const std::vector<slurm_torus_part>& parts) {
    for (const auto& p : parts) {
      torus t;
      for (const auto& n : p.nodes)
        if (n) t.nodes.push_back(*n);
      for (const auto& s : p.shapes) {
        if (s.size.x == 0 || s.size.y == 0 || s.size.z == 0 || s.size.x > p.size.x || s.size.y > p.size.y ||
            s.size.z > p.size.z)
          continue;
        shape k;
        k.nodes = s.size.x * s.size.y * s.size.z;
        for (const std::uint32_t x : around(s.seed.x, s.spacing.x != 0 ? s.spacing.x : s.size.x, p.size.x))
          for (const std::uint32_t y : around(s.seed.y, s.spacing.y != 0 ? s.spacing.y : s.size.y, p.size.y))
            for (const std::uint32_t z : around(s.seed.z, s.spacing.z != 0 ? s.spacing.z : s.size.z, p.size.z))
              k.anchors.push_back(box(p, {x, y, z}, s.size));
        // Smaller shapes first; equal ones as they are listed.
        std::size_t at = t.shapes.size();
        while (at > 0 && t.shapes[at - 1].nodes > k.nodes) --at;
        t.shapes.insert(t.shapes.begin() + static_cast<std::ptrdiff_t>(at), std::move(k));
      }
      tori_.push_back(std::move(t));
    }
  }

  /// The job's boxes, one per segment (one in all where `segment` is 0 or larger than the job); empty where there is no
  /// shape of that size or no room. Of several boxes: the least of the largest node weight; then, of one shape, the one
  /// that breaks the fewest whole boxes of the next larger shape; then the torus with the fewest idle nodes; then the
  /// first. O(segments × anchors × box).
  [[nodiscard]] std::optional<std::vector<std::vector<std::uint32_t>>> place(const std::vector<slurm_node>& nodes,
                                                                             std::uint32_t wanted,
                                                                             std::uint32_t segment = 0) const {
    if (segment > wanted) segment = 0;
    if (wanted == 0 || (segment != 0 && wanted % segment != 0)) return std::nullopt;
    const std::uint32_t size = segment == 0 ? wanted : segment;
    std::vector<bool> free(nodes.size());
    for (std::size_t n = 0; n < nodes.size(); ++n) free[n] = nodes[n].free;
    std::vector<std::vector<std::uint32_t>> out;
    for (std::uint32_t s = 0; s < wanted / size; ++s) {
      candidate best;
      for (const torus& t : tori_) {
        const std::uint32_t idle = count(t.nodes, free);
        for (std::size_t k = 0; k < t.shapes.size(); ++k) {
          if (t.shapes[k].nodes != size) continue;
          const shape* larger = nullptr;
          for (std::size_t o = k + 1; o < t.shapes.size() && larger == nullptr; ++o)
            if (t.shapes[o].nodes > size) larger = &t.shapes[o];
          for (const auto& a : t.shapes[k].anchors) {
            if (a.size() != size || count(a, free) != size) continue;
            candidate c{&t.shapes[k], &a, 0, 0, idle};
            for (const std::uint32_t n : a) c.weight = nodes[n].weight > c.weight ? nodes[n].weight : c.weight;
            if (larger != nullptr)
              for (const auto& b : larger->anchors)
                if (!b.empty() && count(b, free) == b.size() && overlap(a, b)) ++c.broken;
            if (better(c, best)) best = c;
          }
        }
      }
      if (best.where == nullptr) return std::nullopt;
      out.push_back(*best.where);
      for (const std::uint32_t n : *best.where) free[n] = false;
    }
    return out;
  }

 private:
  struct shape {
    std::uint32_t nodes = 0;
    std::vector<std::vector<std::uint32_t>> anchors;
  };
  struct torus {
    std::vector<std::uint32_t> nodes;
    std::vector<shape> shapes;
  };
  struct candidate {
    const shape* of = nullptr;
    const std::vector<std::uint32_t>* where = nullptr;
    std::uint64_t weight = 0;
    std::uint32_t broken = 0;
    std::uint32_t idle = 0;
  };
  [[nodiscard]] static bool better(const candidate& c, const candidate& best) noexcept {
    if (best.where == nullptr) return true;
    if (c.weight != best.weight) return c.weight < best.weight;
    if (c.of == best.of && c.broken != best.broken) return c.broken < best.broken;
    return c.idle < best.idle;
  }
  [[nodiscard]] static std::vector<std::uint32_t> around(std::uint32_t seed, std::uint32_t step, std::uint32_t size) {
    std::vector<std::uint32_t> out;
    std::uint32_t at = seed % size;
    do {
      out.push_back(at);
      at = (at + step) % size;
    } while (at != out.front());
    return out;
  }
  [[nodiscard]] static std::vector<std::uint32_t> box(const slurm_torus_part& p, torus_cell a, torus_cell size) {
    std::vector<std::uint32_t> out;
    for (std::uint32_t z = 0; z < size.z; ++z)
      for (std::uint32_t y = 0; y < size.y; ++y)
        for (std::uint32_t x = 0; x < size.x; ++x) {
          const std::size_t i =
              (std::size_t{(a.z + z) % p.size.z} * p.size.y + (a.y + y) % p.size.y) * p.size.x + (a.x + x) % p.size.x;
          if (i < p.nodes.size() && p.nodes[i]) out.push_back(*p.nodes[i]);
        }
    return out;
  }
  [[nodiscard]] static std::uint32_t count(const std::vector<std::uint32_t>& all, const std::vector<bool>& free) {
    std::uint32_t n = 0;
    for (const std::uint32_t m : all) n += m < free.size() && free[m] ? 1U : 0U;
    return n;
  }
  [[nodiscard]] static bool overlap(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) noexcept {
    for (const std::uint32_t x : a)
      for (const std::uint32_t y : b)
        if (x == y) return true;
    return false;
  }

  std::vector<torus> tori_;
};

}  // namespace berth
