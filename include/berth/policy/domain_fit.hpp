#pragma once
/// \file
/// Which domain a gang gets. All of them look for the narrowest level first: a gang that fits under one leaf is not
/// spread over two. They differ in which domain they take there, and in how they split what no single child holds.
///
/// | policy           | one domain holds all | split                        | good for                                 
/// |
/// |------------------|----------------------|------------------------------|-------------------------------------------|
/// | `fewest_domains` | fewest sub-domains, then tightest | emptiest first, tight last | training gangs; the default  |
/// | `tightest`       | tightest             | emptiest first, tight last   | the same, a little faster                
/// |
/// | `least_free_first` | tightest           | fullest first                | small jobs that should fill holes        
/// |
/// | `most_free_first`  | emptiest           | emptiest first               | least contention; breaks empty domains   
/// |
/// | `balanced`       | tightest             | evenly over the fewest       | equal traffic from every domain          
/// |

#include <cstdint>

#include "berth/policy/concepts.hpp"

namespace berth {

/// Compares up to `candidates` domains that hold everything by the number of sub-domains needed, level by level from
/// outside in, then by tightness.
struct fewest_domains {
  static constexpr domain_order whole = domain_order::tightest;
  static constexpr split_order split = split_order::largest_then_tightest;
  std::uint32_t candidates = 4;
};

/// The least capacity that suffices ("best fit").
struct tightest {
  using score_follows_order = tightest;
  static constexpr domain_order whole = domain_order::tightest;
  static constexpr split_order split = split_order::largest_then_tightest;
  static constexpr std::uint32_t candidates = 1;
  [[nodiscard]] constexpr std::int64_t score(const domain_view& d, std::uint64_t) const noexcept {
    return -static_cast<std::int64_t>(d.capacity);
  }
};

/// Fills what is already broken into.
struct least_free_first {
  using score_follows_order = least_free_first;
  static constexpr domain_order whole = domain_order::tightest;
  static constexpr split_order split = split_order::smallest_first;
  static constexpr std::uint32_t candidates = 1;
  [[nodiscard]] constexpr std::int64_t score(const domain_view& d, std::uint64_t) const noexcept {
    return -static_cast<std::int64_t>(d.capacity);
  }
};

/// The emptiest domain.
struct most_free_first {
  using score_follows_order = most_free_first;
  static constexpr domain_order whole = domain_order::emptiest;
  static constexpr split_order split = split_order::largest_first;
  static constexpr std::uint32_t candidates = 1;
  [[nodiscard]] constexpr std::int64_t score(const domain_view& d, std::uint64_t) const noexcept {
    return static_cast<std::int64_t>(d.capacity);
  }
};

/// Splits evenly over as few children as can hold everything.
struct balanced {
  static constexpr domain_order whole = domain_order::tightest;
  static constexpr split_order split = split_order::even;
  static constexpr std::uint32_t candidates = 1;
};

}  // namespace berth
