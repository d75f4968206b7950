#pragma once
/// \file
/// Flux's match: parts of a containment tree (hosts, sockets, cores, GPUs, memory) for a job, now or at the earliest
/// time at which they are free, by an order of numbers. Source: flux-framework/flux-sched resource/policies/
/// (dfu_match_id_based), resource/traversers/, doc/man5/flux-config-sched-fluxion-resource.rst; peer_semantics item 25.
///
/// | question         | policy                                                     |
/// |------------------|------------------------------------------------------------|
/// | which part       | `highest_number_first`, `lowest_number_first`              |
/// | when             | the first of now and the ends of what is taken, that fits  |
///
/// Where the job names hosts, the best host comes first and the best sockets in it. A slot that names only cores goes
/// to the socket whose cores come first by number, whatever its host.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/policy/id_order.hpp"

namespace berth::flux {

/// What one socket gives.
struct units {
  std::int64_t cores = 0;
  std::int64_t gpus = 0;
  std::int64_t memory = 0;  ///< bytes
};
/// A span of time in which parts of a socket belong to somebody.
struct claim {
  std::int64_t begin = 0, end = 0;  ///< seconds
  std::vector<std::int64_t> cores, gpus;
  std::int64_t memory = 0;
  bool exclusive = false;
};
struct socket {
  std::string name;
  std::size_t host = 0;
  std::int64_t number = 0;
  std::vector<std::int64_t> cores, gpus;  ///< numbers
  std::int64_t memory = 0;
  std::vector<claim> claims;
};
struct host {
  std::string name;
  std::int64_t number = 0;
  std::vector<std::size_t> sockets;
};

enum class exclusive_part : std::uint8_t { none, socket, host };

struct request {
  std::int64_t duration = 0;  ///< seconds
  units each;                 ///< of each socket
  exclusive_part exclusive = exclusive_part::none;
  std::int64_t hosts = 1;    ///< of a job that asks whole hosts
  std::int64_t sockets = 1;  ///< of each host; of slots without exclusive parts: slots
  bool on_one_host = true;
};
struct piece {
  std::size_t socket = 0;
  std::vector<std::int64_t> cores, gpus;
};
struct placement {
  std::int64_t at = 0;  ///< seconds; 0 is now
  std::vector<piece> pieces;
};

struct machine {
  std::vector<host> hosts;
  std::vector<socket> sockets;
};

/// Matches and keeps what it matched. `Pick` orders parts.
template <class Pick>
class matcher {
 public:
  explicit matcher(machine m) : m_{std::move(m)} {}
  [[nodiscard]] const machine& state() const noexcept { return m_; }

  /// Takes the parts for a job now, or, with `reserve`, at the earliest time; nothing where it never fits.
  /// O(claims × (sockets + cores)).
  std::optional<placement> match(const request& r, bool reserve) {
    std::vector<std::int64_t> times{0};
    if (reserve) {
      for (const auto& s : m_.sockets)
        for (const auto& c : s.claims) times.push_back(c.end);
      std::sort(times.begin(), times.end());
      times.erase(std::unique(times.begin(), times.end()), times.end());
    }
    for (const auto at : times)
      if (auto pieces = pick(r, at)) {
        take(r, at, *pieces);
        return placement{at, std::move(*pieces)};
      }
    return std::nullopt;
  }

 private:
  [[nodiscard]] static bool goes_before(std::int64_t a, std::int64_t b) noexcept {
    return Pick{}.score(numbered{a}, 0) > Pick{}.score(numbered{b}, 0);
  }
  [[nodiscard]] static bool overlap(const claim& c, std::int64_t at, const request& r) noexcept {
    return c.begin < at + r.duration && at < c.end;
  }
  /// What of a socket a job would get at a time; nothing where that is too little.
  [[nodiscard]] std::optional<piece> offer(std::size_t s, const request& r, std::int64_t at) const {
    const auto& x = m_.sockets[s];
    std::vector<std::int64_t> cores = x.cores, gpus = x.gpus;
    std::int64_t memory = x.memory;
    for (const auto& c : x.claims) {
      if (!overlap(c, at, r)) continue;
      if (c.exclusive || r.exclusive != exclusive_part::none) return std::nullopt;
      remove(cores, c.cores);
      remove(gpus, c.gpus);
      memory -= c.memory;
    }
    if (static_cast<std::int64_t>(cores.size()) < r.each.cores ||
        static_cast<std::int64_t>(gpus.size()) < r.each.gpus || memory < r.each.memory)
      return std::nullopt;
    piece p{s, std::move(cores), std::move(gpus)};
    for (auto* list : {&p.cores, &p.gpus}) std::sort(list->begin(), list->end(), goes_before);
    p.cores.resize(static_cast<std::size_t>(r.each.cores));
    p.gpus.resize(static_cast<std::size_t>(r.each.gpus));
    return p;
  }
  static void remove(std::vector<std::int64_t>& from, const std::vector<std::int64_t>& what) {
    from.erase(std::remove_if(from.begin(), from.end(),
                              [&](std::int64_t n) { return std::find(what.begin(), what.end(), n) != what.end(); }),
               from.end());
  }
  [[nodiscard]] std::vector<std::size_t> hosts_in_order() const {
    std::vector<std::size_t> order(m_.hosts.size());
    for (std::size_t h = 0; h < order.size(); ++h) order[h] = h;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return goes_before(m_.hosts[a].number, m_.hosts[b].number); });
    return order;
  }
  [[nodiscard]] std::vector<std::size_t> in_order(std::vector<std::size_t> sockets) const {
    std::stable_sort(sockets.begin(), sockets.end(), [&](std::size_t a, std::size_t b) {
      return goes_before(m_.sockets[a].number, m_.sockets[b].number);
    });
    return sockets;
  }
  [[nodiscard]] std::optional<std::vector<piece>> pick(const request& r, std::int64_t at) const {
    std::vector<piece> out;
    if (r.exclusive == exclusive_part::none) {
      // Slots of cores, one after another, each on the socket whose cores come first.
      auto rest = *this;
      for (std::int64_t k = 0; k < r.sockets; ++k) {
        std::optional<piece> best;
        for (const auto h : hosts_in_order())
          for (const auto s : in_order(m_.hosts[h].sockets)) {
            auto p = rest.offer(s, r, at);
            if (!p) continue;
            const bool first = !best || (!p->cores.empty() && !best->cores.empty() &&
                                         goes_before(p->cores.front(), best->cores.front()));
            if (first) best = std::move(p);
          }
        if (!best) return std::nullopt;
        rest.take(r, at, {*best});
        out.push_back(std::move(*best));
      }
      return out;
    }
    std::int64_t hosts = r.exclusive == exclusive_part::host ? r.hosts : 1, sockets = r.sockets;
    for (const auto h : hosts_in_order()) {
      std::vector<piece> here;
      bool whole = true;
      for (const auto s : in_order(m_.hosts[h].sockets)) {
        auto p = offer(s, r, at);
        if (!p) whole = whole && free(s, r, at);
        else if (static_cast<std::int64_t>(here.size()) < sockets) here.push_back(std::move(*p));
      }
      const bool enough = static_cast<std::int64_t>(here.size()) == sockets;
      if (r.exclusive == exclusive_part::host ? !whole || !enough : r.on_one_host && !enough) continue;
      out.insert(out.end(), here.begin(), here.end());
      if (r.exclusive == exclusive_part::socket && !r.on_one_host) {
        sockets -= static_cast<std::int64_t>(here.size());
        if (sockets == 0) return out;
      } else if (--hosts == 0) {
        return out;
      }
    }
    return std::nullopt;
  }
  [[nodiscard]] bool free(std::size_t s, const request& r, std::int64_t at) const {
    for (const auto& c : m_.sockets[s].claims)
      if (overlap(c, at, r)) return false;
    return true;
  }
  void take(const request& r, std::int64_t at, const std::vector<piece>& pieces) {
    for (const auto& p : pieces)
      m_.sockets[p.socket].claims.push_back(
          {at, at + r.duration, p.cores, p.gpus, r.each.memory, r.exclusive != exclusive_part::none});
    if (r.exclusive != exclusive_part::host) return;
    // The rest of a host that belongs to one job belongs to it too.
    for (const auto& p : pieces)
      for (const auto s : m_.hosts[m_.sockets[p.socket].host].sockets)
        if (free(s, r, at)) m_.sockets[s].claims.push_back({at, at + r.duration, {}, {}, 0, true});
  }

  machine m_;
};

}  // namespace berth::flux
