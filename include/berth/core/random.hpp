#pragma once
/// \file
/// Deterministic random numbers: the same seed gives the same sequence with every compiler and standard library.
/// Source: xoshiro256** by Blackman and Vigna (2018), seeded by splitmix64; both public domain algorithms.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace berth {

/// Spreads a number over all bits. Source: the finisher of splitmix64 (Steele, Lea and Flood 2014).
[[nodiscard]] constexpr std::uint64_t scattered(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

/// A seeded generator. Satisfies `std::uniform_random_bit_generator`, but use `below` and `unit`: the standard
/// distributions differ between libraries.
class random_source {
 public:
  using result_type = std::uint64_t;
  constexpr explicit random_source(std::uint64_t seed) noexcept {
    for (auto& w : s_) {
      seed += 0x9e3779b97f4a7c15U;
      w = scattered(seed);
    }
  }
  static constexpr result_type min() noexcept { return 0; }
  static constexpr result_type max() noexcept { return ~std::uint64_t{0}; }
  constexpr result_type operator()() noexcept {
    const std::uint64_t out = std::rotl(s_[1] * 5, 7) * 9;
    const std::uint64_t t = s_[1] << 17;
    s_[2] ^= s_[0];
    s_[3] ^= s_[1];
    s_[1] ^= s_[2];
    s_[0] ^= s_[3];
    s_[2] ^= t;
    s_[3] = std::rotl(s_[3], 45);
    return out;
  }
  /// Uniform in [0, n), without bias. \pre n > 0
  constexpr std::uint64_t below(std::uint64_t n) noexcept {
    const std::uint64_t reject = (~n + 1) % n;  // 2^64 mod n
    std::uint64_t x = (*this)();
    while (x < reject) x = (*this)();
    return x % n;
  }
  /// Uniform in [lo, hi]. \pre lo <= hi
  constexpr std::uint64_t between(std::uint64_t lo, std::uint64_t hi) noexcept {
    return hi - lo == max() ? (*this)() : lo + below(hi - lo + 1);
  }
  /// Uniform in [0, 1).
  constexpr double unit() noexcept { return static_cast<double>((*this)() >> 11) * 0x1.0p-53; }
  /// Brings `first[0] … first[n - 1]` into any order, all alike. O(n).
  template <class T>
  constexpr void shuffle(T* first, std::size_t n) noexcept {
    for (std::size_t i = n; i > 1; --i) {
      const std::size_t k = below(i);
      T x = std::move(first[i - 1]);
      first[i - 1] = std::move(first[k]);
      first[k] = std::move(x);
    }
  }

 private:
  std::uint64_t s_[4]{};
};

}  // namespace berth
