// Compiling is passing: what the types of core/ promise to whoever stores or copies them.
#include <compare>
#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>

#include "berth/core/bits.hpp"
#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/core/id.hpp"
#include "berth/core/random.hpp"
#include "berth/core/units.hpp"

namespace {

using namespace berth;

template <class T>
concept small_value = std::is_trivially_copyable_v<T> && std::is_nothrow_default_constructible_v<T> &&
                      std::is_standard_layout_v<T> && std::three_way_comparable<T>;
template <class A, class B>
concept addable = requires(A a, B b) { a + b; };

// Ids cost what their number costs, do no arithmetic and do not mix.
static_assert(small_value<node_id> && sizeof(node_id) == 4);
static_assert(small_value<domain_id> && sizeof(domain_id) == 4);
static_assert(small_value<level_id> && sizeof(level_id) == 1);
static_assert(small_value<shape_id> && sizeof(shape_id) == 2);
static_assert(sizeof(job_key) == 8);
static_assert(!std::convertible_to<std::uint32_t, node_id> && !std::convertible_to<node_id, std::uint32_t>);
static_assert(!std::constructible_from<node_id, domain_id> && !std::equality_comparable_with<node_id, domain_id>);
static_assert(!addable<node_id, node_id> && !addable<node_id, std::uint32_t>);
static_assert(!node_id{} && node_id{0}, "the default id is none, and 0 is an id");

// Amounts: one number, additive within their unit alone.
static_assert(small_value<bytes> && sizeof(bytes) == 8);
static_assert(small_value<cpu_millis> && sizeof(cpu_millis) == 8);
static_assert(small_value<gigabytes_per_second> && sizeof(gigabytes_per_second) == 8);
static_assert(std::is_integral_v<bytes::rep> && std::is_integral_v<cpu_millis::rep>, "resources undo exactly");
static_assert(!std::convertible_to<std::int64_t, bytes> && !std::convertible_to<bytes, std::int64_t>);
static_assert(addable<bytes, bytes> && !addable<bytes, cpu_millis> && !addable<bytes, std::int64_t>);
static_assert(noexcept(bytes{1} + bytes{2}) && noexcept(bytes{1} < bytes{2}));
static_assert(cpus(3) == cpu_millis{3000} && mebibytes(1024) == gibibytes(1));

// Bits.
static_assert(low_bits(0) == 0 && low_bits(3) == 7 && low_bits(64) == ~device_mask{0});
static_assert(sizeof(device_mask) * 8 == max_devices_per_node);
static_assert(lowest_set(0b1011'0100, 2) == 0b1'0100);

// Results and errors move without throwing, so that they can travel through noexcept code.
static_assert(std::is_nothrow_move_constructible_v<expected<node_id, input_error>>);
static_assert(std::is_nothrow_move_constructible_v<input_error>);
static_assert(!std::convertible_to<input_error, expected<std::string, input_error>>, "an error is said, not implied");
static_assert(!std::default_initializable<expected<node_id, input_error>>);

// The random source is a plain value: copying it forks the sequence.
static_assert(std::is_trivially_copyable_v<random_source>);
static_assert(!std::convertible_to<std::uint64_t, random_source>);

}  // namespace
