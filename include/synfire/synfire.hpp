/* synfire.hpp - the C ABI as C++ objects: handles that destroy themselves, errors as exceptions, typed views, time-outs
 * as durations. Header-only C++17; needs only synfire.h and the standard library.
 *
 * It adds ownership and translates types and errors, and has no behaviour of its own. Each function says which function
 * of synfire.h it calls; blocking, allocation, capture and threads are documented there. bindings/update.sh generates
 * the marked blocks from synfire.h.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SYNFIRE_SYNFIRE_HPP
#define SYNFIRE_SYNFIRE_HPP

#include <synfire/synfire.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#if __cplusplus >= 202002L
#include <version>
#if defined(__cpp_lib_span) && defined(__cpp_lib_ranges)
#include <ranges>
#include <span>
#endif
#endif

/**
 * @file
 * @brief The C ABI as C++ objects.
 *
 * @ref cpp explains the conventions.
 */

/**
 * @defgroup cpp C++
 * @brief The C ABI as C++ objects: `synfire/synfire.hpp`.
 *
 * Conventions that hold for everything here:
 *
 * - Errors are thrown as synfire::error, with everything that synfire_last_error() reports. A late replay is not an
 * error: waiting for it returns synfire::Waited::pending. Destructors, moves, `get`, `release` and `reset` never throw.
 * - synfire::Context, synfire::Buffer, synfire::Layer and synfire::Graph own one handle each. They can be moved but not
 * copied. A moved-from object is null, and its functions throw ::SYNFIRE_ERROR_INVALID_HANDLE. Objects may be destroyed
 * in any order, as in C.
 * - Everything in use is kept alive, so an object may be destroyed before those that use it: a graph keeps the layers
 * and buffers that its operations read or write, a layer keeps the buffers of its tape, and enqueued GPU work keeps
 * what it reads and writes. Names and lists in a descriptor are read only during the call. The program must keep alive:
 * borrowed memory without a keeper, until its last use (borrowed_desc()); what the callback of a native node uses, as
 * long as the graph exists; a job system, as long as its context and everything created on it exist.
 * - An object converts to its handle, so it can be passed wherever the C ABI takes one, including in descriptors.
 * - A buffer may have a shape, such as `{20, 1, 64}` for `[T, B, N]`. An operation that needs another shape refuses the
 * buffer, with both shapes in the text. A buffer that is created with a number of elements has no shape: only its size
 * is checked.
 * - Steps and neurons are named arguments: `synfire::steps{20}, synfire::neurons{64}`.
 * - Descriptors are those of the C ABI. A `struct_size` of 0 is filled in, so that the designated initialisers of C++20
 *   work: `synfire::Layer lif(context, {.n_steps = 16, .n_neurons = 128})` (with `-Wextra`, g++ warns about the omitted
 *   fields). In C++17, use the functions named `_desc`.
 * - A synfire::Model or synfire::Surrogate, loaded as text, also converts to its id, so it can be passed wherever
 *   `SYNFIRE_MODEL_LIF` or `SYNFIRE_SURROGATE_ATAN` can, including in descriptors.
 * - If the callback of a native node throws, the call that led to it, Graph::launch(), Graph::instantiate() or
 *   Graph::rebind(), rethrows the exception. So does the load that calls a synfire::LoadProgress. No other callback may
 *   throw.
 * - Graph::launch(), Graph::wait() and Graph::poll() allocate nothing, unless they throw.
 */

/** The C++ wrapper of Synfire. */
namespace synfire {

/** @addtogroup cpp
 * @{ */

// ---- Errors ---------------------------------------------------------------------------------------------------------

/** The exception that a failed call throws; what() is the text of synfire_last_error(). */
class error : public std::runtime_error {
 public:
  /**
   * Creates an error. Those of the library are created by check().
   *
   * @param status     A negative status.
   * @param text       The text, which begins with a rule id in brackets.
   * @param cuda_error The `cudaError_t` that caused it, or 0.
   */
  error(synfire_status status, const std::string& text, std::int32_t cuda_error = 0)
      : std::runtime_error(text), status_(status), cuda_error_(cuda_error) {}

  /**
   * The status that the call returned.
   *
   * @return One of `SYNFIRE_ERROR_*`.
   */
  synfire_status status() const noexcept { return status_; }

  /**
   * The status in words.
   *
   * @return The result of synfire_status_name().
   */
  const char* status_name() const noexcept { return synfire_status_name(status_); }

  /**
   * The CUDA error that caused the failure.
   *
   * @return A `cudaError_t`, or 0.
   */
  std::int32_t cuda_error() const noexcept { return cuda_error_; }

  /**
   * The stable rule id, the part of what() that a program may rely on.
   *
   * @return The id without its brackets, such as `SYN-PARAMETER-RANGE`, as a view into what(); empty if there is none.
   */
  std::string_view rule() const noexcept {
    const std::string_view text = what();
    const std::size_t end = text.find(']');
    if (text.empty() || text.front() != '[' || end == std::string_view::npos) return {};
    return std::string_view(text.data() + 1, end - 1);
  }

 private:
  synfire_status status_;
  std::int32_t cuda_error_;
};

/** @cond DETAIL */
namespace detail {

[[noreturn]] inline void throw_last_error(synfire_status status) {
  std::int32_t cuda_error = 0;
  std::string text(static_cast<std::size_t>(synfire_last_error(nullptr, 0, nullptr)), '\0');
  synfire_last_error(text.data(), text.size(), &cuda_error);
  if (!text.empty()) text.pop_back();  // the terminating null
  throw error(status, text, cuda_error);
}

}  // namespace detail
/** @endcond */

/**
 * Throws if a call of the C ABI failed. Must be called on the thread that made the call.
 *
 * @param status What the call returned.
 * @return `status`: 0, or a note such as ::SYNFIRE_PENDING.
 * @throws error if `status` is negative.
 */
inline synfire_status check(synfire_status status) {
  if (status < 0) detail::throw_last_error(status);
  return status;
}

// ---- Types of elements ----------------------------------------------------------------------------------------------

/** @cond DETAIL */
namespace detail {

inline std::uint32_t bits_of(float value) noexcept {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
inline float float_of(std::uint32_t bits) noexcept {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// `bits` without its lowest `count` ones, rounded to nearest, ties to even.
constexpr std::uint32_t rounded_shift(std::uint32_t bits, std::uint32_t count) noexcept {
  const std::uint32_t kept = bits >> count, rest = bits & ((1U << count) - 1), half = 1U << (count - 1);
  return kept + (rest > half || (rest == half && (kept & 1U) != 0) ? 1U : 0U);
}

inline std::uint16_t f16_bits(float value) noexcept {
  const std::uint32_t bits = bits_of(value), sign = bits >> 16 & 0x8000U, magnitude = bits & 0x7FFFFFFFU;
  std::uint32_t f16 = 0x7C00U;
  if (magnitude > 0x7F800000U) {
    f16 = 0x7E00U;
  } else if (magnitude >= 0x38800000U && magnitude < 0x47800000U) {
    f16 = rounded_shift(magnitude - 0x38000000U, 13);
  } else if (magnitude < 0x38800000U) {  // below 2^-14, in units of 2^-24
    const std::uint32_t exponent = magnitude >> 23;
    f16 = exponent < 102 ? 0U : rounded_shift((magnitude & 0x7FFFFFU) | 0x800000U, 126 - exponent);
  }
  return static_cast<std::uint16_t>(sign | f16);
}
inline float f16_value(std::uint16_t stored) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(stored & 0x8000U) << 16, magnitude = stored & 0x7FFFU;
  if (magnitude >= 0x7C00U) return float_of(sign | 0x7F800000U | (magnitude & 0x3FFU) << 13);
  if (magnitude >= 0x400U) return float_of(sign | ((magnitude << 13) + 0x38000000U));
  const float value = static_cast<float>(magnitude) * 5.9604644775390625e-8F;  // 2^-24
  return sign != 0 ? -value : value;
}

inline std::uint16_t bf16_bits(float value) noexcept {
  const std::uint32_t bits = bits_of(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<std::uint16_t>(bits >> 16 | 0x40U);
  return static_cast<std::uint16_t>(rounded_shift(bits, 16));
}
inline float bf16_value(std::uint16_t stored) noexcept {
  return float_of(static_cast<std::uint32_t>(stored) << 16);
}

}  // namespace detail
/** @endcond */

/** One element of ::SYNFIRE_DTYPE_F16, IEEE binary16: two bytes to convert to and from `float`. */
struct f16 {
  /** The encoding: sign, five bits of exponent, ten of fraction. */
  std::uint16_t bits = 0;

  /** Zero. */
  constexpr f16() noexcept = default;
  /**
   * Rounds to nearest, ties to even; 65520 and above become infinity.
   *
   * @param value Any number.
   */
  explicit f16(float value) noexcept : bits(detail::f16_bits(value)) {}
  /**
   * The number, exactly.
   *
   * @return Its value.
   */
  explicit operator float() const noexcept { return detail::f16_value(bits); }
};

/** One element of ::SYNFIRE_DTYPE_BF16, the upper half of a `float`: two bytes to convert to and from `float`. */
struct bf16 {
  /** The encoding: sign, eight bits of exponent, seven of fraction. */
  std::uint16_t bits = 0;

  /** Zero. */
  constexpr bf16() noexcept = default;
  /**
   * Rounds to nearest, ties to even.
   *
   * @param value Any number.
   */
  explicit bf16(float value) noexcept : bits(detail::bf16_bits(value)) {}
  /**
   * The number, exactly.
   *
   * @return Its value.
   */
  explicit operator float() const noexcept { return detail::bf16_value(bits); }
};

/** @cond DETAIL */
namespace detail {

template <class T>
constexpr std::int32_t dtype_of() noexcept {
  using Element = std::remove_cv_t<T>;
  static_assert(
      std::is_same_v<Element, float> || std::is_same_v<Element, double> || std::is_same_v<Element, f16> ||
          std::is_same_v<Element, bf16> || std::is_same_v<Element, std::uint32_t> ||
          std::is_same_v<Element, std::uint8_t> || std::is_same_v<Element, std::uint64_t>,
      "Synfire's elements are float, double, synfire::f16, synfire::bf16, for spikes std::uint32_t (packed) and "
      "std::uint8_t, and for counts std::uint32_t and std::uint64_t");
  if (std::is_same_v<Element, double>) return SYNFIRE_DTYPE_F64;
  if (std::is_same_v<Element, float>) return SYNFIRE_DTYPE_F32;
  if (std::is_same_v<Element, f16>) return SYNFIRE_DTYPE_F16;
  if (std::is_same_v<Element, bf16>) return SYNFIRE_DTYPE_BF16;
  if (std::is_same_v<Element, std::uint8_t>) return SYNFIRE_DTYPE_U8;
  if (std::is_same_v<Element, std::uint64_t>) return SYNFIRE_DTYPE_U64;
  return SYNFIRE_DTYPE_BITS;
}

// True if a buffer of `dtype` holds elements T. 32-bit words are elements of both packed formats and of counts.
template <class T>
constexpr bool holds(std::int32_t dtype) noexcept {
  return dtype == dtype_of<T>() ||
         ((dtype == SYNFIRE_DTYPE_TIME_BITS || dtype == SYNFIRE_DTYPE_U32) && dtype_of<T>() == SYNFIRE_DTYPE_BITS);
}

constexpr std::size_t element_size(std::int32_t dtype) noexcept {
  switch (dtype) {
    case SYNFIRE_DTYPE_F64:
    case SYNFIRE_DTYPE_U64:
      return 8;
    case SYNFIRE_DTYPE_F16:
    case SYNFIRE_DTYPE_BF16:
      return 2;
    case SYNFIRE_DTYPE_U8:
      return 1;
    default:
      return 4;
  }
}

inline std::string dtype_name(std::int32_t dtype) {
  switch (dtype) {
    case SYNFIRE_DTYPE_F32:
      return "float";
    case SYNFIRE_DTYPE_F64:
      return "double";
    case SYNFIRE_DTYPE_F16:
      return "synfire::f16";
    case SYNFIRE_DTYPE_BF16:
      return "synfire::bf16";
    case SYNFIRE_DTYPE_U8:
      return "std::uint8_t";
    case SYNFIRE_DTYPE_BITS:
    case SYNFIRE_DTYPE_TIME_BITS:
    case SYNFIRE_DTYPE_U32:
      return "std::uint32_t";
    case SYNFIRE_DTYPE_U64:
      return "std::uint64_t";
    default:
      return "dtype " + std::to_string(dtype);
  }
}

template <class Descriptor>
constexpr Descriptor empty() noexcept {
  Descriptor desc{};
  desc.struct_size = static_cast<std::uint32_t>(sizeof(Descriptor));
  return desc;
}

template <class Descriptor>
constexpr Descriptor sized(Descriptor desc) noexcept {
  if (desc.struct_size == 0) desc.struct_size = static_cast<std::uint32_t>(sizeof(Descriptor));
  return desc;
}

}  // namespace detail
/** @endcond */

/** The `SYNFIRE_DTYPE_*` whose elements are T: `float`, `double`, f16, bf16; for spikes, `std::uint8_t`, or
 *  `std::uint32_t` for packed ones (::SYNFIRE_DTYPE_BITS); for counts, `std::uint64_t`. The elements of
 *  time_bits_desc() and counts_desc() are `std::uint32_t`, too. */
template <class T>
inline constexpr std::int32_t dtype_of = detail::dtype_of<T>();

/** Elements in host memory that something else owns: a pointer and a count. Converts to `std::span` in C++20. */
template <class T>
class View {
 public:
  /** T without `const`. */
  using value_type = std::remove_cv_t<T>;
  /** A plain pointer. */
  using iterator = T*;

  /** No elements. */
  constexpr View() noexcept = default;

  /**
   * Views memory.
   *
   * @param data The first element.
   * @param size How many.
   */
  constexpr View(T* data, std::size_t size) noexcept : data_(data), size_(size) {}

  /**
   * Converts a view of mutable elements to a view of constant ones.
   *
   * @param other The view to convert.
   */
  template <class U, class = std::enable_if_t<std::is_same_v<const U, T>>>
  constexpr View(const View<U>& other) noexcept : data_(other.data()), size_(other.size()) {}

  /**
   * Where the elements are.
   *
   * @return The address of the first.
   */
  constexpr T* data() const noexcept { return data_; }

  /**
   * How many elements there are.
   *
   * @return Elements, not bytes.
   */
  constexpr std::size_t size() const noexcept { return size_; }

  /**
   * True if there are none.
   *
   * @return size() == 0.
   */
  constexpr bool empty() const noexcept { return size_ == 0; }

  /**
   * One element, unchecked.
   *
   * @param index Less than size().
   * @return The element.
   */
  constexpr T& operator[](std::size_t index) const noexcept { return data_[index]; }

  /**
   * The first element.
   *
   * @return A pointer.
   */
  constexpr T* begin() const noexcept { return data_; }

  /**
   * The end.
   *
   * @return A pointer past the last element.
   */
  constexpr T* end() const noexcept { return data_ + size_; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

// ---- Named numbers and shapes ---------------------------------------------------------------------------------------

/** @cond DETAIL */
namespace detail {

template <class T>
using if_integer = std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, int>;

template <class>
inline constexpr bool never = false;

}  // namespace detail
/** @endcond */

/** A number of time steps, T: `synfire::steps{20}`. */
struct steps {
  /** The number. */
  std::int64_t count;

  /**
   * Wraps a number.
   *
   * @param number A number of any integer type.
   */
  template <class Integer, detail::if_integer<Integer> = 0>
  constexpr explicit steps(Integer number) noexcept : count(static_cast<std::int64_t>(number)) {}

  /** @cond DETAIL */
  // Catches plain integers and swapped arguments. The constructor above is more specialized, so this one is chosen only
  // for implicit conversions, where the other is not a candidate, and for arguments that are not integers.
  template <class Other, class... None>
  constexpr steps(Other, None...) noexcept : count(0) {
    static_assert(detail::never<Other>,
                  "steps and neurons are named, in this order: write synfire::steps{20}, synfire::neurons{64}");
  }
  /** @endcond */
};

/** A number of neurons of one batch row, N: `synfire::neurons{64}`. */
struct neurons {
  /** The number. */
  std::int64_t count;

  /**
   * Wraps a number.
   *
   * @param number A number of any integer type.
   */
  template <class Integer, detail::if_integer<Integer> = 0>
  constexpr explicit neurons(Integer number) noexcept : count(static_cast<std::int64_t>(number)) {}

  /** @cond DETAIL */
  template <class Other, class... None>
  constexpr neurons(Other, None...) noexcept : count(0) {
    static_assert(detail::never<Other>,
                  "steps and neurons are named, in this order: write synfire::steps{20}, synfire::neurons{64}");
  }
  /** @endcond */
};

/** The shape of a buffer: up to four lengths, slowest dimension first, such as `{20, 1, 64}` for `[T, B, N]`. For
 *  packed spikes, the last or first length is in words. See synfire_buffer_desc::shape. */
class Shape {
 public:
  /** No shape: only the number of elements is checked. */
  constexpr Shape() noexcept = default;

  /**
   * A shape of one to four lengths.
   *
   * @param lengths Integers of any type, at least 1.
   * @throws error with the rule SYN-BUFFER-SHAPE if one is less than 1.
   */
  template <class... Lengths,
            std::enable_if_t<(sizeof...(Lengths) > 0) && (std::is_integral_v<Lengths> && ...), int> = 0>
  constexpr Shape(Lengths... lengths) : rank_(sizeof...(Lengths)) {
    static_assert(sizeof...(Lengths) <= 4, "a shape has at most four lengths");
    std::size_t dimension = 0;
    ((lengths_[dimension] = checked(dimension, lengths), ++dimension), ...);
  }

  /**
   * A shape from an array of lengths.
   *
   * @param lengths One to four integers, at least 1.
   * @throws error with the rule SYN-BUFFER-SHAPE if one is less than 1.
   */
  template <class Length, std::size_t Rank, detail::if_integer<Length> = 0>
  constexpr Shape(const std::array<Length, Rank>& lengths) : rank_(Rank) {
    static_assert(Rank <= 4, "a shape has at most four lengths");
    for (std::size_t dimension = 0; dimension < Rank; ++dimension)
      lengths_[dimension] = checked(dimension, lengths[dimension]);
  }

  /**
   * The number of lengths.
   *
   * @return 0 to 4; 0 means no shape.
   */
  constexpr std::size_t rank() const noexcept { return rank_; }

  /**
   * One length, unchecked.
   *
   * @param dimension Less than rank().
   * @return At least 1.
   */
  constexpr std::uint64_t operator[](std::size_t dimension) const noexcept { return lengths_[dimension]; }

  /**
   * True if two shapes have the same lengths, including those of 1.
   *
   * @param a A shape.
   * @param b Another one.
   * @return True if they are equal.
   */
  friend constexpr bool operator==(const Shape& a, const Shape& b) noexcept {
    for (std::size_t dimension = 0; dimension < 4; ++dimension)
      if (a.lengths_[dimension] != b.lengths_[dimension]) return false;
    return true;
  }

  /**
   * True if two shapes differ.
   *
   * @param a A shape.
   * @param b Another one.
   * @return True if they are not equal.
   */
  friend constexpr bool operator!=(const Shape& a, const Shape& b) noexcept { return !(a == b); }

 private:
  template <class Length>
  static constexpr std::uint64_t checked(std::size_t dimension, Length length) {
    if (length < 1)
      throw error(SYNFIRE_ERROR_INVALID_ARGUMENT, "[SYN-BUFFER-SHAPE] synfire::Shape: length " +
                                                      std::to_string(dimension) + " is " + std::to_string(length) +
                                                      "; allowed: 1 or more");
    return static_cast<std::uint64_t>(length);
  }

  std::uint64_t lengths_[4] = {};
  std::size_t rank_ = 0;
};

// ---- Descriptors ----------------------------------------------------------------------------------------------------

/**
 * Describes a context.
 *
 * @param backend   One of `SYNFIRE_BACKEND_*`.
 * @param n_threads Threads of the host backend; 0 is automatic.
 * @return The descriptor, with defaults for everything else.
 */
constexpr synfire_context_desc context_desc(std::int32_t backend = SYNFIRE_BACKEND_AUTO,
                                            std::int32_t n_threads = 0) noexcept {
  auto desc = detail::empty<synfire_context_desc>();
  desc.backend = backend;
  desc.n_threads = n_threads;
  return desc;
}

/** @cond DETAIL */
namespace detail {

template <class JobSystem>
void* SYNFIRE_CALL enqueue_task(void* jobs, synfire_task task, void* argument, std::int32_t n_items,
                                std::int32_t min_range) noexcept {
  return static_cast<JobSystem*>(jobs)->enqueue(task, argument, n_items, min_range);
}
template <class JobSystem>
void SYNFIRE_CALL finish_task(void* jobs, void* handle) noexcept {
  static_cast<JobSystem*>(jobs)->finish(handle);
}

}  // namespace detail
/** @endcond */

/**
 * Describes a context whose host backend uses the caller's job system instead of its own threads.
 *
 * @tparam JobSystem A class with `void* enqueue(synfire_task task, void* argument, std::int32_t n_items, std::int32_t
 *                   min_range)` and `void finish(void* handle)`: see ::synfire_enqueue_task and ::synfire_finish_task.
 *                   An exception that escapes from one of them ends the program.
 * @param jobs       The job system. It must live until the context and everything created on it are freed.
 * @param n_threads  Number of its threads, including the calling one; 0: as many as there are processors.
 * @param backend    One of `SYNFIRE_BACKEND_*`.
 * @return The descriptor, with defaults for everything else.
 */
template <class JobSystem>
synfire_context_desc context_desc_with_jobs(JobSystem& jobs, std::int32_t n_threads = 0,
                                            std::int32_t backend = SYNFIRE_BACKEND_AUTO) noexcept {
  synfire_context_desc desc = context_desc(backend, n_threads);
  desc.enqueue_task = detail::enqueue_task<JobSystem>;
  desc.finish_task = detail::finish_task<JobSystem>;
  desc.job_system = &jobs;
  return desc;
}

// ---- Host memory and messages -----------------------------------------------------------------------------------------

/** @cond DETAIL */
namespace detail {

template <class Heap>
void* SYNFIRE_CALL allocate(void* heap, std::uint64_t bytes, std::uint64_t alignment, std::int32_t tag) noexcept {
  try {
    return static_cast<Heap*>(heap)->allocate(bytes, alignment, tag);
  } catch (...) {  // the call fails as one without memory
    return nullptr;
  }
}
template <class Heap>
void SYNFIRE_CALL release(void* heap, void* memory, std::uint64_t bytes, std::uint64_t alignment,
                          std::int32_t tag) noexcept {
  static_cast<Heap*>(heap)->release(memory, bytes, alignment, tag);
}
template <class Log>
void SYNFIRE_CALL log(void* log, std::int32_t level, const char* text) noexcept {
  try {
    (*static_cast<Log*>(log))(level, std::string_view(text));
  } catch (...) {  // a message is no reason to fail
  }
}

}  // namespace detail
/** @endcond */

/**
 * Lets a heap of the program's give all host memory to the library, in the whole process: before the first context, or when
 * everything is destroyed and freed. Calls synfire_memory_set_functions().
 *
 * @tparam Heap A class with `void* allocate(std::uint64_t bytes, std::uint64_t alignment, std::int32_t tag)` and
 *              `void release(void* memory, std::uint64_t bytes, std::uint64_t alignment, std::int32_t tag)`: see
 *              ::synfire_allocate_callback and ::synfire_release_memory_callback. An exception from `allocate` means that
 *              there is no memory; one from `release` ends the program.
 * @param heap  The heap. It must live until another one is set.
 * @throws error with the rule SYN-MEMORY-IN-USE if the library holds memory.
 */
template <class Heap>
void set_memory(Heap& heap) {
  auto desc = detail::empty<synfire_memory_desc>();
  desc.allocate = &detail::allocate<Heap>;
  desc.release = &detail::release<Heap>;
  desc.user = &heap;
  check(synfire_memory_set_functions(&desc));
}

/**
 * Lets the C library give host memory to the library, as at first. Calls synfire_memory_set_functions().
 *
 * @throws error with the rule SYN-MEMORY-IN-USE if the library holds memory.
 */
inline void reset_memory() {
  check(synfire_memory_set_functions(nullptr));
}

/**
 * The memory that the library holds in this process. Calls synfire_memory_get_use().
 *
 * @return Bytes by kinds of memory and of objects.
 * @throws error
 */
inline synfire_memory_use memory_use() {
  auto use = detail::empty<synfire_memory_use>();
  check(synfire_memory_get_use(&use));
  return use;
}

/**
 * Lets a function of the program's hear the library's messages in this process. Calls synfire_log_set_function().
 *
 * @tparam Log  Called as `log(std::int32_t level, std::string_view text)`: see ::synfire_log_callback. What it throws is
 *              ignored.
 * @param log   The function. It must live until reset_log(), or until another one is set.
 * @param level The most detailed level that is heard, one of `SYNFIRE_LOG_*`; 0: all.
 * @throws error
 */
template <class Log>
void set_log(Log& log, std::int32_t level = 0) {
  auto desc = detail::empty<synfire_log_desc>();
  desc.level = level;
  desc.log = &detail::log<Log>;
  desc.user = &log;
  check(synfire_log_set_function(&desc));
}

/**
 * Ends what set_log() began; when it returns, the function is not called any more. Calls synfire_log_set_function().
 *
 * @throws error
 */
inline void reset_log() {
  check(synfire_log_set_function(nullptr));
}

/**
 * Describes a buffer that the library allocates.
 *
 * @tparam T         Element type; see dtype_of.
 * @param n_elements Number of elements; for packed spikes, words.
 * @param memory     One of `SYNFIRE_MEMORY_*`.
 * @param row_pitch  Elements from one step to the next; 0: steps are contiguous.
 * @return The descriptor.
 */
template <class T>
constexpr synfire_buffer_desc buffer_desc(std::uint64_t n_elements, std::int32_t memory = SYNFIRE_MEMORY_DEVICE,
                                          std::uint64_t row_pitch = 0) noexcept {
  auto desc = detail::empty<synfire_buffer_desc>();
  desc.memory = memory;
  desc.dtype = dtype_of<T>;
  desc.n_elements = n_elements;
  desc.row_pitch = row_pitch;
  return desc;
}

/**
 * Describes a buffer with a shape that the library allocates: `buffer_desc<float>({20, 1, 64})`.
 *
 * @tparam T        Element type; see dtype_of.
 * @param shape     Its lengths; for packed spikes, the last one is in words.
 * @param memory    One of `SYNFIRE_MEMORY_*`.
 * @param row_pitch Elements from one step to the next; 0: steps are contiguous.
 * @return The descriptor.
 */
template <class T>
constexpr synfire_buffer_desc buffer_desc(const Shape& shape, std::int32_t memory = SYNFIRE_MEMORY_DEVICE,
                                          std::uint64_t row_pitch = 0) noexcept {
  auto desc = buffer_desc<T>(std::uint64_t{0}, memory, row_pitch);
  for (std::size_t dimension = 0; dimension < shape.rank(); ++dimension) desc.shape[dimension] = shape[dimension];
  return desc;
}

/**
 * Describes a buffer of time-packed spikes that the library allocates; its elements are `std::uint32_t`.
 *
 * @param n_words   Number of words: ceil(T/32) * B * N.
 * @param memory    One of `SYNFIRE_MEMORY_*`.
 * @param row_pitch Words from one row of words, which is 32 steps, to the next; 0: rows are contiguous.
 * @return The descriptor.
 */
constexpr synfire_buffer_desc time_bits_desc(std::uint64_t n_words, std::int32_t memory = SYNFIRE_MEMORY_DEVICE,
                                             std::uint64_t row_pitch = 0) noexcept {
  auto desc = buffer_desc<std::uint32_t>(n_words, memory, row_pitch);
  desc.dtype = SYNFIRE_DTYPE_TIME_BITS;
  return desc;
}

/**
 * Describes a buffer of time-packed spikes with a shape that the library allocates; its elements are `std::uint32_t`.
 *
 * @param shape     `{ceil(T/32), B, N}`.
 * @param memory    One of `SYNFIRE_MEMORY_*`.
 * @param row_pitch Words from one row of words, which is 32 steps, to the next; 0: rows are contiguous.
 * @return The descriptor.
 */
constexpr synfire_buffer_desc time_bits_desc(const Shape& shape, std::int32_t memory = SYNFIRE_MEMORY_DEVICE,
                                             std::uint64_t row_pitch = 0) noexcept {
  auto desc = buffer_desc<std::uint32_t>(shape, memory, row_pitch);
  desc.dtype = SYNFIRE_DTYPE_TIME_BITS;
  return desc;
}

/**
 * Describes a buffer of 32-bit counts that the library allocates; its elements are `std::uint32_t`. For 64-bit counts,
 * use buffer_desc() with `std::uint64_t`.
 *
 * @param n_elements Number of counts.
 * @param memory     One of `SYNFIRE_MEMORY_*`.
 * @return The descriptor.
 */
constexpr synfire_buffer_desc counts_desc(std::uint64_t n_elements,
                                          std::int32_t memory = SYNFIRE_MEMORY_DEVICE) noexcept {
  auto desc = buffer_desc<std::uint32_t>(n_elements, memory);
  desc.dtype = SYNFIRE_DTYPE_U32;
  return desc;
}

/**
 * Describes a buffer of 32-bit counts with a shape that the library allocates; its elements are `std::uint32_t`.
 *
 * @param shape  Its lengths.
 * @param memory One of `SYNFIRE_MEMORY_*`.
 * @return The descriptor.
 */
constexpr synfire_buffer_desc counts_desc(const Shape& shape, std::int32_t memory = SYNFIRE_MEMORY_DEVICE) noexcept {
  auto desc = buffer_desc<std::uint32_t>(shape, memory);
  desc.dtype = SYNFIRE_DTYPE_U32;
  return desc;
}

/**
 * Describes a buffer over borrowed memory. The memory must stay valid until its last use by the buffer, by a graph that
 * uses it, or by a layer whose tape was made from it. A Buffer with a keeper ensures this.
 *
 * @tparam T         Element type; see dtype_of.
 * @param data       Memory of the kind `memory`.
 * @param n_elements Number of elements.
 * @param memory     One of `SYNFIRE_MEMORY_*`.
 * @param row_pitch  Elements from one step to the next; 0: steps are contiguous.
 * @return The descriptor.
 */
template <class T>
constexpr synfire_buffer_desc borrowed_desc(T* data, std::uint64_t n_elements, std::int32_t memory,
                                            std::uint64_t row_pitch = 0) noexcept {
  auto desc = buffer_desc<T>(n_elements, memory, row_pitch);
  desc.data = data;
  return desc;
}

/**
 * Describes a buffer with a shape over borrowed memory, as borrowed_desc() with a number of elements does.
 *
 * @tparam T        Element type; see dtype_of.
 * @param data      Memory of the kind `memory`, large enough for the shape.
 * @param shape     Its lengths; for packed spikes, the last one is in words.
 * @param memory    One of `SYNFIRE_MEMORY_*`.
 * @param row_pitch Elements from one step to the next; 0: steps are contiguous.
 * @return The descriptor.
 */
template <class T>
constexpr synfire_buffer_desc borrowed_desc(T* data, const Shape& shape, std::int32_t memory,
                                            std::uint64_t row_pitch = 0) noexcept {
  auto desc = buffer_desc<T>(shape, memory, row_pitch);
  desc.data = data;
  return desc;
}

/**
 * Describes a layer: `layer_desc(SYNFIRE_MODEL_LIF, synfire::steps{20}, synfire::neurons{64})`.
 *
 * @param model     One of `SYNFIRE_MODEL_*`.
 * @param n_steps   Steps T of one forward.
 * @param n_neurons Neurons N of one batch row.
 * @param batch     Batch rows B.
 * @return The descriptor, with defaults for everything else.
 */
constexpr synfire_layer_desc layer_desc(std::int32_t model, steps n_steps, neurons n_neurons,
                                        std::int64_t batch = 1) noexcept {
  auto desc = detail::empty<synfire_layer_desc>();
  desc.model = model;
  desc.n_steps = n_steps.count;
  desc.n_neurons = n_neurons.count;
  desc.batch = batch;
  return desc;
}

/**
 * Describes a forward pass.
 *
 * @param x      X, read.
 * @param spikes S, written; may be null.
 * @param tape   One of `SYNFIRE_TAPE_*`.
 * @return The descriptor, with defaults for everything else.
 */
inline synfire_forward_desc forward_desc(synfire_buffer x, synfire_buffer spikes = nullptr,
                                         std::int32_t tape = SYNFIRE_TAPE_RECOMPUTE) noexcept {
  auto desc = detail::empty<synfire_forward_desc>();
  desc.tape = tape;
  desc.x = x;
  desc.spikes = spikes;
  return desc;
}

/**
 * Describes a forward pass whose X a synapse makes.
 *
 * @param synapse       The synapse in the place of X.
 * @param synapse_input What the synapse reads.
 * @param spikes        S, written; may be null.
 * @param tape          One of `SYNFIRE_TAPE_*`.
 * @return The descriptor, with defaults for everything else.
 */
inline synfire_forward_desc forward_desc(synfire_synapse synapse, synfire_buffer synapse_input,
                                         synfire_buffer spikes = nullptr,
                                         std::int32_t tape = SYNFIRE_TAPE_RECOMPUTE) noexcept {
  auto desc = detail::empty<synfire_forward_desc>();
  desc.tape = tape;
  desc.synapse = synapse;
  desc.synapse_input = synapse_input;
  desc.spikes = spikes;
  return desc;
}

/**
 * Describes a backward pass.
 *
 * @param grad_spike_seq dL/dS, read; null means zero.
 * @param grad_x_seq     dL/dX, written; may be null.
 * @return The descriptor, with defaults for everything else.
 */
inline synfire_backward_desc backward_desc(synfire_buffer grad_spike_seq = nullptr,
                                           synfire_buffer grad_x_seq = nullptr) noexcept {
  auto desc = detail::empty<synfire_backward_desc>();
  desc.grad_spike_seq = grad_spike_seq;
  desc.grad_x_seq = grad_x_seq;
  return desc;
}

// ---- generated from synfire.h by bindings/cpp/generate.py: begin descriptors

/**
 * Fills in a ::synfire_copy_desc.
 *
 * A copy between two buffers of one context.
 *
 * @param source             Read.
 * @param destination        Written; must not overlap what is read.
 * @param source_offset      First byte in `source`.
 * @param destination_offset First byte in `destination`.
 * @param bytes              Number of bytes. 0 (default): all of `source` from `source_offset` on.
 * @return The descriptor.
 */
constexpr synfire_copy_desc copy_desc(synfire_buffer source, synfire_buffer destination,
                                      std::uint64_t source_offset = 0, std::uint64_t destination_offset = 0,
                                      std::uint64_t bytes = 0) noexcept {
  auto desc = detail::empty<synfire_copy_desc>();
  desc.source = source;
  desc.destination = destination;
  desc.source_offset = source_offset;
  desc.destination_offset = destination_offset;
  desc.bytes = bytes;
  return desc;
}

/**
 * Fills in a ::synfire_convert_spikes_desc.
 *
 * Spikes `[T, B, N]` to convert from one format to another: packed, unpacked, transposed or as another type. The types
 * of the two buffers select the conversion. The `row_pitch` of a buffer applies as in the passes of a layer.
 *
 * @param source      Read. Dense `[T, B, N]` in f32, f64, f16, bf16 or u8, where every non-zero element is a spike:
 *                    NaNs and subnormal numbers are spikes, -0 is not. Or packed, ::SYNFIRE_DTYPE_BITS or
 *                    ::SYNFIRE_DTYPE_TIME_BITS; tail bits are ignored.
 * @param destination Written, in any of these types: 1 and 0 if dense; all words, with tail bits zero, if packed. Must
 *                    not overlap `source`. Shape: `[T, B, N]`, dense or packed.
 * @param n_steps     Steps T, at least 1.
 * @param n_neurons   Neurons N of one batch row, at least 1.
 * @param batch       Batch rows B. Default: 1.
 * @return The descriptor.
 */
constexpr synfire_convert_spikes_desc convert_spikes_desc(synfire_buffer source, synfire_buffer destination,
                                                          steps n_steps, neurons n_neurons,
                                                          std::int64_t batch = 1) noexcept {
  auto desc = detail::empty<synfire_convert_spikes_desc>();
  desc.source = source;
  desc.destination = destination;
  desc.n_steps = n_steps.count;
  desc.n_neurons = n_neurons.count;
  desc.batch = batch;
  return desc;
}

/**
 * Fills in a ::synfire_count_spikes_desc.
 *
 * Spikes `[T, B, N]` to count. Counts are exact.
 *
 * @param spikes    Read, in any format that synfire_convert_spikes_desc::source may have. Shape: `[T, B, N]`, dense or
 *                  packed.
 * @param counts    Written, not added to: ::SYNFIRE_DTYPE_U32 or ::SYNFIRE_DTYPE_U64. The type must be able to hold the
 *                  largest count that the shape allows. Must not overlap `spikes`. Shape: `[B, N]`, `[T]` or `[1]`.
 * @param n_steps   Steps T, at least 1.
 * @param n_neurons Neurons N of one batch row, at least 1.
 * @param kind      One of `SYNFIRE_COUNT_*`. Default: per neuron.
 * @param batch     Batch rows B. Default: 1.
 * @return The descriptor.
 */
constexpr synfire_count_spikes_desc count_spikes_desc(synfire_buffer spikes, synfire_buffer counts, steps n_steps,
                                                      neurons n_neurons, std::int32_t kind = SYNFIRE_COUNT_PER_NEURON,
                                                      std::int64_t batch = 1) noexcept {
  auto desc = detail::empty<synfire_count_spikes_desc>();
  desc.spikes = spikes;
  desc.counts = counts;
  desc.n_steps = n_steps.count;
  desc.n_neurons = n_neurons.count;
  desc.kind = kind;
  desc.batch = batch;
  return desc;
}

/**
 * Fills in a ::synfire_encode_bernoulli_desc.
 *
 * Rates to encode as spikes `[T, B, N]`: in each step, each neuron spikes with a probability equal to its rate,
 * independently of all others.
 *
 * @param rates     Read: f32, f16 or bf16. Shape: `[B, N]` or `[T, B, N]`.
 * @param spikes    Written, in any format that synfire_convert_spikes_desc::destination may have. Must not overlap
 *                  `rates`. Shape: `[T, B, N]`, dense or packed.
 * @param n_steps   Steps T, at least 1.
 * @param n_neurons Neurons N of one batch row, at least 1, at most 2^34.
 * @param batch     Batch rows B, at most 2^32. Default: 1.
 * @param seed      Any number. Different seeds give independent spikes. The operation's value `"seed"`.
 * @param offset    Number of the first step in the sequence of the seed. In a graph, this is the first step of the
 *                  first replay; each replay begins T steps after the one before it. The operation's value `"offset"`.
 * @return The descriptor; `rates_per_step` may be set in it.
 */
constexpr synfire_encode_bernoulli_desc encode_bernoulli_desc(synfire_buffer rates, synfire_buffer spikes,
                                                              steps n_steps, neurons n_neurons, std::int64_t batch = 1,
                                                              std::uint64_t seed = 0,
                                                              std::uint64_t offset = 0) noexcept {
  auto desc = detail::empty<synfire_encode_bernoulli_desc>();
  desc.rates = rates;
  desc.spikes = spikes;
  desc.n_steps = n_steps.count;
  desc.n_neurons = n_neurons.count;
  desc.batch = batch;
  desc.seed = seed;
  desc.offset = offset;
  return desc;
}

/**
 * Fills in a ::synfire_bin_events_desc.
 *
 * Events of a camera to bin into spikes or counts `[T, B, H, W, 2]`, N = H * W * 2. Element (y, x, p) of a step has the
 * events of polarity p in cell (y, x): 0 where it became darker, 1 where it became brighter.
 *
 * @param events          Read: ::SYNFIRE_DTYPE_U64. Shape: `[B, capacity]`.
 * @param event_counts    Read: ::SYNFIRE_DTYPE_U32, how many events of each row there were, also of those that the
 *                        buffer does not hold. It may differ in every replay. Shape: `[B]`.
 * @param destination     Written: spikes in ::SYNFIRE_DTYPE_BITS, spikes or counts in ::SYNFIRE_DTYPE_U8, or counts in
 *                        f32. A `row_pitch` is the distance from one step to the next. Must not overlap the others.
 *                        Shape: `[T, B, N]`.
 * @param faults          Written: ::SYNFIRE_DTYPE_U32, for each row how often each of `SYNFIRE_EVENTS_FAULT_*`
 *                        happened. Must not overlap the others. Shape: `[B, 5]`.
 * @param n_steps         Steps T, 1 to 2^31 - 1.
 * @param capacity        Events that a row of the buffer can hold, 1 to 2^31 - 1; with `bilinear`, at most 2^26 - 1.
 * @param sensor_height   Rows of the sensor, 1 to 16384.
 * @param sensor_width    Columns of the sensor, 1 to 16384.
 * @param split           One of `SYNFIRE_EVENTS_BY_*`. Default: by time.
 * @param keep            One of `SYNFIRE_EVENTS_KEEP_*`. Default: the oldest.
 * @param batch           Batch rows B, at most 2^32 - 1. Default: 1.
 * @param ticks_per_step  By time: ticks of a step, 1 to 2^32 - 1. Default: 1000, a millisecond of microseconds. Must be
 *                        0 if `window` is given, and by count.
 * @param events_per_step By count: events of a step. Default: the events of a row are divided evenly among the steps.
 *                        Must be 0 by time.
 * @param crop_top        First row of the cropped rectangle.
 * @param crop_left       First column of the cropped rectangle.
 * @param crop_height     Rows of the cropped rectangle. Default: all that are left.
 * @param crop_width      Columns of the cropped rectangle. Default: all that are left.
 * @param crop_range_y    The first row is drawn from this many more rows. Default 0: it is `crop_top`.
 * @param crop_range_x    The first column is drawn from this many more columns. Default 0: it is `crop_left`.
 * @param downsample_y    Rows of the sensor in one cell. Default: 1.
 * @param downsample_x    Columns of the sensor in one cell. Default: 1.
 * @param flip_y          The probability with which a batch row is mirrored top to bottom, from 0 (default) to 1, which
 *                        is always.
 * @param flip_x          The probability with which a batch row is mirrored left to right, from 0 (default) to 1, which
 *                        is always.
 * @param count_bound     The largest count. In ::SYNFIRE_DTYPE_U8, 1 to 255; default 1, the result is spikes. In f32, 1
 *                        to 2^24; default: counts are not bounded. In ::SYNFIRE_DTYPE_BITS, 1.
 * @param window          Read: ::SYNFIRE_DTYPE_U32, for each row the time at which its first step begins and, by time,
 *                        the ticks of a step. With 0 ticks, no event belongs to a step. It may differ in every replay.
 *                        Null: all begin at time 0, and have `ticks_per_step`. Shape: `[B, 2]`.
 * @param seed            Any number. Different seeds give independent augmentations. The operation's value `"seed"`.
 * @param offset          Number of the augmentation in the sequence of the seed. In a graph, this is that of the first
 *                        replay; each replay draws the next one. The operation's value `"offset"`.
 * @return The descriptor; `sort` and `bilinear` may be set in it.
 */
constexpr synfire_bin_events_desc bin_events_desc(
    synfire_buffer events, synfire_buffer event_counts, synfire_buffer destination, synfire_buffer faults,
    steps n_steps, std::int64_t capacity, std::int64_t sensor_height, std::int64_t sensor_width,
    std::int32_t split = SYNFIRE_EVENTS_BY_TIME, std::int32_t keep = SYNFIRE_EVENTS_KEEP_OLDEST, std::int64_t batch = 1,
    std::int64_t ticks_per_step = 0, std::int64_t events_per_step = 0, std::int64_t crop_top = 0,
    std::int64_t crop_left = 0, std::int64_t crop_height = 0, std::int64_t crop_width = 0,
    std::int64_t crop_range_y = 0, std::int64_t crop_range_x = 0, std::int64_t downsample_y = 1,
    std::int64_t downsample_x = 1, double flip_y = 0, double flip_x = 0, std::int32_t count_bound = 0,
    synfire_buffer window = nullptr, std::uint64_t seed = 0, std::uint64_t offset = 0) noexcept {
  auto desc = detail::empty<synfire_bin_events_desc>();
  desc.events = events;
  desc.event_counts = event_counts;
  desc.destination = destination;
  desc.faults = faults;
  desc.n_steps = n_steps.count;
  desc.capacity = capacity;
  desc.sensor_height = sensor_height;
  desc.sensor_width = sensor_width;
  desc.split = split;
  desc.keep = keep;
  desc.batch = batch;
  desc.ticks_per_step = ticks_per_step;
  desc.events_per_step = events_per_step;
  desc.crop_top = crop_top;
  desc.crop_left = crop_left;
  desc.crop_height = crop_height;
  desc.crop_width = crop_width;
  desc.crop_range_y = crop_range_y;
  desc.crop_range_x = crop_range_x;
  desc.downsample_y = downsample_y;
  desc.downsample_x = downsample_x;
  desc.flip_y = flip_y;
  desc.flip_x = flip_x;
  desc.count_bound = count_bound;
  desc.window = window;
  desc.seed = seed;
  desc.offset = offset;
  return desc;
}

/**
 * Fills in a ::synfire_gather_rows_desc.
 *
 * Rows of a data set to gather into a batch. The source has R rows of T steps of N elements; row b of the batch is the
 * row of the source whose number is `indices[b]`. The batch is time-major, as layers read it: the transposition is part
 * of the operation. The bits of elements are copied unchanged.
 *
 * @param source      Read, of any type. A `row_pitch` is the distance from one row to the next. On a CUDA context,
 *                    device memory or, for a data set that the device cannot hold, pinned memory: a replay then
 *                    transfers only the rows that it gathers. In a graph with several slots the source has no copies:
 *                    all replays read the buffer's own memory. Shape: `[R, T, N]`.
 * @param indices     Read: ::SYNFIRE_DTYPE_U32. Shape: `[B]`.
 * @param destination Written, of the source's type. A `row_pitch` is the distance from one step to the next. Must not
 *                    overlap the others. Shape: `[T, B, N]`.
 * @param n_rows      Rows R of the data set, at least 1.
 * @param n_elements  Elements N of one step of a row, at least 1.
 * @param n_steps     Steps T of a row. Default: 1.
 * @param batch       Batch rows B. Default: 1.
 * @param n_active    Read: ::SYNFIRE_DTYPE_U32, how many rows of the batch there are; more than B counts as B. Null: B.
 *                    Shape: `[1]`.
 * @param lengths     Read: ::SYNFIRE_DTYPE_U32, how many steps of each row of the batch there are; more than T counts
 *                    as T. Null: T. Since ABI 0.3. Shape: `[B]`.
 * @return The descriptor.
 */
constexpr synfire_gather_rows_desc gather_rows_desc(synfire_buffer source, synfire_buffer indices,
                                                    synfire_buffer destination, std::int64_t n_rows,
                                                    std::int64_t n_elements, steps n_steps = steps{1},
                                                    std::int64_t batch = 1, synfire_buffer n_active = nullptr,
                                                    synfire_buffer lengths = nullptr) noexcept {
  auto desc = detail::empty<synfire_gather_rows_desc>();
  desc.source = source;
  desc.indices = indices;
  desc.destination = destination;
  desc.n_rows = n_rows;
  desc.n_elements = n_elements;
  desc.n_steps = n_steps.count;
  desc.batch = batch;
  desc.n_active = n_active;
  desc.lengths = lengths;
  return desc;
}

/**
 * Fills in a ::synfire_shuffle_desc.
 *
 * The rows of a batch to draw: indices into a data set of R rows, such that each row appears once in every epoch, in an
 * order that depends on the seed and the epoch only.
 *
 * @param indices  Written: ::SYNFIRE_DTYPE_U32, each less than R. Shape: `[B]`.
 * @param n_rows   Rows R of the data set, at least 1, at most 2^32 - 1.
 * @param batch    Rows B of a batch, at most 2^32 - 1. Default: 1.
 * @param n_active Written: ::SYNFIRE_DTYPE_U32, how many rows the batch has. Other operations read it as their
 *                 `n_active`. Null: not written. Shape: `[1]`.
 * @param seed     Any number. Different seeds give independent orders. The operation's value `"seed"`.
 * @param offset   Number of the batch, counted from the beginning of epoch 0. In a graph, this is the batch of the
 *                 first replay; each replay draws the batch after the one before it, epoch after epoch. The operation's
 *                 value `"offset"`.
 * @return The descriptor; `in_order` and `drop_last` may be set in it.
 */
constexpr synfire_shuffle_desc shuffle_desc(synfire_buffer indices, std::int64_t n_rows, std::int64_t batch = 1,
                                            synfire_buffer n_active = nullptr, std::uint64_t seed = 0,
                                            std::uint64_t offset = 0) noexcept {
  auto desc = detail::empty<synfire_shuffle_desc>();
  desc.indices = indices;
  desc.n_rows = n_rows;
  desc.batch = batch;
  desc.n_active = n_active;
  desc.seed = seed;
  desc.offset = offset;
  return desc;
}

/**
 * Fills in a ::synfire_replace_nonfinite_desc.
 *
 * Numbers `[T, B, N]` to copy, with 0 in the place of those that are not finite: NaN, infinity and minus infinity. The
 * bits of all others are copied unchanged. A NaN that reaches a neuron stays in its state, and the neuron does not fire
 * again until that is reset; with this operation before it, a broken frame of a sensor is one with zeros.
 *
 * @param source      Read: f32, f64, f16 or bf16. A `row_pitch` is the distance from one step to the next. Shape:
 *                    `[T, B, N]`.
 * @param count       Written, with `accumulate` also read: ::SYNFIRE_DTYPE_U64. Must not overlap the others. Shape:
 *                    `[1]`.
 * @param destination Written, of the source's type. It may be `source` itself, and must not overlap it otherwise.
 *                    Shape: `[T, B, N]`.
 * @param n_elements  Elements N of one batch row of a step, at least 1.
 * @param n_steps     Steps T. Default: 1.
 * @param batch       Batch rows B. Default: 1.
 * @return The descriptor; `accumulate` may be set in it.
 */
constexpr synfire_replace_nonfinite_desc replace_nonfinite_desc(synfire_buffer source, synfire_buffer count,
                                                                synfire_buffer destination, std::int64_t n_elements,
                                                                steps n_steps = steps{1},
                                                                std::int64_t batch = 1) noexcept {
  auto desc = detail::empty<synfire_replace_nonfinite_desc>();
  desc.source = source;
  desc.count = count;
  desc.destination = destination;
  desc.n_elements = n_elements;
  desc.n_steps = n_steps.count;
  desc.batch = batch;
  return desc;
}

/**
 * Fills in a ::synfire_reduce_desc.
 *
 * A reduction of `[T, B, N]` over the steps or over the batch, such as a readout: the sum of the spikes of each neuron,
 * or its mean, largest or last potential.
 *
 * @param source      Read: numbers `[T, B, N]` in f32, f64, f16, bf16 or u32 (counts), or spikes `[T, B, N]` in
 *                    ::SYNFIRE_DTYPE_U8, where every non-zero element counts as 1, ::SYNFIRE_DTYPE_BITS or
 *                    ::SYNFIRE_DTYPE_TIME_BITS. Dense spikes of 0 and 1 in f32, f64, f16 or bf16 are numbers, and give
 *                    the same results.
 * @param destination Written: `[B, N]` over the steps, `[T, N]` over the batch. f64 for an f64 source, f32 for f32, f16
 *                    and bf16, either one for u32 and packed or u8 spikes. Must not overlap another buffer of the
 *                    operation.
 * @param n_steps     Steps T, at least 1.
 * @param n_neurons   Neurons N of one batch row, at least 1.
 * @param reduction   One of `SYNFIRE_REDUCE_*`. Default: the sum.
 * @param axis        One of `SYNFIRE_AXIS_*`. Default: the steps.
 * @param batch       Batch rows B. Default: 1.
 * @param lengths     How many steps of each batch row count, from the first on: u32, read in every run. Above T counts
 *                    as T. Null (default): all T. Shape: `[B]`.
 * @param n_active    How many batch rows count, from the first on: u32, read in every run. Above B counts as B. Null
 *                    (default): all B. Shape: `[1]`.
 * @return The descriptor.
 */
constexpr synfire_reduce_desc reduce_desc(synfire_buffer source, synfire_buffer destination, steps n_steps,
                                          neurons n_neurons, std::int32_t reduction = SYNFIRE_REDUCE_SUM,
                                          std::int32_t axis = SYNFIRE_AXIS_STEPS, std::int64_t batch = 1,
                                          synfire_buffer lengths = nullptr,
                                          synfire_buffer n_active = nullptr) noexcept {
  auto desc = detail::empty<synfire_reduce_desc>();
  desc.source = source;
  desc.destination = destination;
  desc.n_steps = n_steps.count;
  desc.n_neurons = n_neurons.count;
  desc.reduction = reduction;
  desc.axis = axis;
  desc.batch = batch;
  desc.lengths = lengths;
  desc.n_active = n_active;
  return desc;
}

/**
 * Fills in a ::synfire_reduce_backward_desc.
 *
 * The gradient of a reduction with respect to its source. Fields that ::synfire_reduce_desc has too are those of the
 * reduction.
 *
 * @param grad_destination Read: dL/d(destination), `[B, N]` over the steps, `[T, N]` over the batch; f32 or f64.
 * @param grad_source      Written, or added to: dL/d(source) `[T, B, N]`, such as synfire_backward_desc::grad_spike_seq
 *                         or synfire_backward_desc::grad_v_seq. f64 if `grad_destination` is f64, otherwise f32, f16 or
 *                         bf16. Must not overlap another buffer of the operation.
 * @param n_steps          Steps T, at least 1.
 * @param n_neurons        Neurons N of one batch row, at least 1.
 * @param reduction        One of `SYNFIRE_REDUCE_*`. Default: the sum.
 * @param axis             One of `SYNFIRE_AXIS_*`. Default: the steps.
 * @param batch            Batch rows B. Default: 1.
 * @param source           Read: synfire_reduce_desc::source, for a maximum, which needs it. Other reductions do not use
 *                         it. Shape: `[T, B, N]`, dense or packed.
 * @param lengths          As in the reduction. Shape: `[B]`.
 * @param n_active         As in the reduction. Shape: `[1]`.
 * @return The descriptor; `accumulate` may be set in it.
 */
constexpr synfire_reduce_backward_desc reduce_backward_desc(
    synfire_buffer grad_destination, synfire_buffer grad_source, steps n_steps, neurons n_neurons,
    std::int32_t reduction = SYNFIRE_REDUCE_SUM, std::int32_t axis = SYNFIRE_AXIS_STEPS, std::int64_t batch = 1,
    synfire_buffer source = nullptr, synfire_buffer lengths = nullptr, synfire_buffer n_active = nullptr) noexcept {
  auto desc = detail::empty<synfire_reduce_backward_desc>();
  desc.grad_destination = grad_destination;
  desc.grad_source = grad_source;
  desc.n_steps = n_steps.count;
  desc.n_neurons = n_neurons.count;
  desc.reduction = reduction;
  desc.axis = axis;
  desc.batch = batch;
  desc.source = source;
  desc.lengths = lengths;
  desc.n_active = n_active;
  return desc;
}

/**
 * Fills in a ::synfire_pool_desc.
 *
 * A pool over maps `[H, W, C]` with the channels fastest, N = H * W * C: the maximum, the sum or the mean of the places
 * of a window, for each channel. Outputs are maps `[Ho, Wo, C]`, M = Ho * Wo * C, with Ho = floor((H + 2 * padding_y -
 * kernel_height) / stride_y) + 1, and Wo likewise: windows, strides and paddings mean what they mean in PyTorch without
 * `ceil_mode`. Windows are scanned row by row. A maximum leaves out places outside the map; in sums they count as 0.
 * Means divide by kernel_height * kernel_width everywhere.
 *
 * @param source        Read: values in f32 or f64, counts or spikes in ::SYNFIRE_DTYPE_U8, or spikes in
 *                      ::SYNFIRE_DTYPE_BITS. Dense spikes of 0 and 1 in f32 or f64 are values, and their maxima are the
 *                      same. Shape: `[T, B, N]`.
 * @param destination   Written, of the source's type; sums of spikes and counts in u8 or f32, their means in f32. Must
 *                      not overlap `source`. Shape: `[T, B, M]`.
 * @param n_steps       Steps T, at least 1.
 * @param channels      Channels C, at least 1.
 * @param kind          One of `SYNFIRE_POOL_*`. Default: the maximum.
 * @param batch         Batch rows B. Default: 1.
 * @param height        Height H of the map. Default: 1.
 * @param width         Width W of the map. Default: 1.
 * @param kernel_height Height of the window. Default: the whole map.
 * @param kernel_width  Width of the window. Default: the whole map.
 * @param stride_y      Rows from one window to the next. Default: the window's.
 * @param stride_x      Columns from one window to the next. Default: the window's.
 * @param padding_y     Rows outside the map, on both sides, at most half of the window's. Default: 0.
 * @param padding_x     Columns likewise. Default: 0.
 * @param count_bound   The largest count of a source in u8, 1 to 255; larger ones count as it. Default: 1, the source
 *                      is spikes.
 * @return The descriptor.
 */
constexpr synfire_pool_desc pool_desc(synfire_buffer source, synfire_buffer destination, steps n_steps,
                                      std::int64_t channels, std::int32_t kind = SYNFIRE_POOL_MAX,
                                      std::int64_t batch = 1, std::int64_t height = 1, std::int64_t width = 1,
                                      std::int64_t kernel_height = 0, std::int64_t kernel_width = 0,
                                      std::int64_t stride_y = 0, std::int64_t stride_x = 0, std::int64_t padding_y = 0,
                                      std::int64_t padding_x = 0, std::int32_t count_bound = 0) noexcept {
  auto desc = detail::empty<synfire_pool_desc>();
  desc.source = source;
  desc.destination = destination;
  desc.n_steps = n_steps.count;
  desc.channels = channels;
  desc.kind = kind;
  desc.batch = batch;
  desc.height = height;
  desc.width = width;
  desc.kernel_height = kernel_height;
  desc.kernel_width = kernel_width;
  desc.stride_y = stride_y;
  desc.stride_x = stride_x;
  desc.padding_y = padding_y;
  desc.padding_x = padding_x;
  desc.count_bound = count_bound;
  return desc;
}

/**
 * Fills in a ::synfire_pool_backward_desc.
 *
 * The gradient of a pool with respect to its source. Fields that ::synfire_pool_desc has too are those of the pool.
 *
 * @param grad_destination Read: dL/d(destination), f32 or f64. Shape: `[T, B, M]`.
 * @param grad_source      Written, or added to: dL/d(source), of the type of `grad_destination`. Must not overlap
 *                         another buffer of the operation. Shape: `[T, B, N]`.
 * @param n_steps          Steps T, at least 1.
 * @param channels         Channels C, at least 1.
 * @param kind             One of `SYNFIRE_POOL_*`. Default: the maximum.
 * @param batch            Batch rows B. Default: 1.
 * @param height           Height H of the map. Default: 1.
 * @param width            Width W of the map. Default: 1.
 * @param kernel_height    Height of the window. Default: the whole map.
 * @param kernel_width     Width of the window. Default: the whole map.
 * @param stride_y         Rows from one window to the next. Default: the window's.
 * @param stride_x         Columns from one window to the next. Default: the window's.
 * @param padding_y        Rows outside the map, on both sides, at most half of the window's. Default: 0.
 * @param padding_x        Columns likewise. Default: 0.
 * @param count_bound      The largest count of a source in u8, 1 to 255; larger ones count as it. Default: 1, the
 *                         source is spikes.
 * @param source           Read: synfire_pool_desc::source, for a maximum, which needs it. Others do not use it. Shape:
 *                         `[T, B, N]`.
 * @return The descriptor; `accumulate` may be set in it.
 */
constexpr synfire_pool_backward_desc pool_backward_desc(
    synfire_buffer grad_destination, synfire_buffer grad_source, steps n_steps, std::int64_t channels,
    std::int32_t kind = SYNFIRE_POOL_MAX, std::int64_t batch = 1, std::int64_t height = 1, std::int64_t width = 1,
    std::int64_t kernel_height = 0, std::int64_t kernel_width = 0, std::int64_t stride_y = 0, std::int64_t stride_x = 0,
    std::int64_t padding_y = 0, std::int64_t padding_x = 0, std::int32_t count_bound = 0,
    synfire_buffer source = nullptr) noexcept {
  auto desc = detail::empty<synfire_pool_backward_desc>();
  desc.grad_destination = grad_destination;
  desc.grad_source = grad_source;
  desc.n_steps = n_steps.count;
  desc.channels = channels;
  desc.kind = kind;
  desc.batch = batch;
  desc.height = height;
  desc.width = width;
  desc.kernel_height = kernel_height;
  desc.kernel_width = kernel_width;
  desc.stride_y = stride_y;
  desc.stride_x = stride_x;
  desc.padding_y = padding_y;
  desc.padding_x = padding_x;
  desc.count_bound = count_bound;
  desc.source = source;
  return desc;
}

/**
 * Fills in a ::synfire_upsample_desc.
 *
 * A nearest upsampling of maps `[H, W, C]` with the channels fastest, N = H * W * C, to maps
 * `[H * scale_y, W * scale_x, C]` of M elements: element (y, x) of a channel is that of (y / scale_y, x / scale_x).
 *
 * @param source      Read: values in f32 or f64, counts or spikes in ::SYNFIRE_DTYPE_U8, or spikes in
 *                    ::SYNFIRE_DTYPE_BITS. Shape: `[T, B, N]`.
 * @param destination Written, of the source's type. Must not overlap `source`. Shape: `[T, B, M]`.
 * @param n_steps     Steps T, at least 1.
 * @param channels    Channels C, at least 1.
 * @param batch       Batch rows B. Default: 1.
 * @param height      Height H of the map. Default: 1.
 * @param width       Width W of the map. Default: 1.
 * @param scale_y     How many rows of the result a row of the map becomes. Default: 2, also with H = 1: maps of
 *                    sequences need 1.
 * @param scale_x     Columns likewise. Default: 2.
 * @return The descriptor.
 */
constexpr synfire_upsample_desc upsample_desc(synfire_buffer source, synfire_buffer destination, steps n_steps,
                                              std::int64_t channels, std::int64_t batch = 1, std::int64_t height = 1,
                                              std::int64_t width = 1, std::int64_t scale_y = 0,
                                              std::int64_t scale_x = 2) noexcept {
  auto desc = detail::empty<synfire_upsample_desc>();
  desc.source = source;
  desc.destination = destination;
  desc.n_steps = n_steps.count;
  desc.channels = channels;
  desc.batch = batch;
  desc.height = height;
  desc.width = width;
  desc.scale_y = scale_y;
  desc.scale_x = scale_x;
  return desc;
}

/**
 * Fills in a ::synfire_upsample_backward_desc.
 *
 * The gradient of an upsampling with respect to its source. Fields that ::synfire_upsample_desc has too are those of
 * the upsampling. An element adds the gradients of its scale_y * scale_x results row by row, from +0, in the gradients'
 * type.
 *
 * @param grad_destination Read: dL/d(destination), f32 or f64. Shape: `[T, B, M]`.
 * @param grad_source      Written, or added to: dL/d(source), of the type of `grad_destination`, which it must not
 *                         overlap. Shape: `[T, B, N]`.
 * @param n_steps          Steps T, at least 1.
 * @param channels         Channels C, at least 1.
 * @param batch            Batch rows B. Default: 1.
 * @param height           Height H of the map. Default: 1.
 * @param width            Width W of the map. Default: 1.
 * @param scale_y          How many rows of the result a row of the map becomes. Default: 2.
 * @param scale_x          Columns likewise. Default: 2.
 * @return The descriptor; `accumulate` may be set in it.
 */
constexpr synfire_upsample_backward_desc upsample_backward_desc(synfire_buffer grad_destination,
                                                                synfire_buffer grad_source, steps n_steps,
                                                                std::int64_t channels, std::int64_t batch = 1,
                                                                std::int64_t height = 1, std::int64_t width = 1,
                                                                std::int64_t scale_y = 2,
                                                                std::int64_t scale_x = 2) noexcept {
  auto desc = detail::empty<synfire_upsample_backward_desc>();
  desc.grad_destination = grad_destination;
  desc.grad_source = grad_source;
  desc.n_steps = n_steps.count;
  desc.channels = channels;
  desc.batch = batch;
  desc.height = height;
  desc.width = width;
  desc.scale_y = scale_y;
  desc.scale_x = scale_x;
  return desc;
}

/**
 * Fills in a ::synfire_pad_desc.
 *
 * A border of zeros around maps `[H, W, C]` with the channels fastest, N = H * W * C: the result is a map
 * `[top + H + bottom, left + W + right, C]` of M elements. A negative number leaves out as many rows or columns on its
 * side; at least one row and one column of the map must stay. The order of the four numbers is that of PyTorch's
 * `ZeroPad2d`.
 *
 * @param source      Read: values in f32 or f64, counts or spikes in ::SYNFIRE_DTYPE_U8, or spikes in
 *                    ::SYNFIRE_DTYPE_BITS. Shape: `[T, B, N]`.
 * @param destination Written, of the source's type. Must not overlap `source`. Shape: `[T, B, M]`.
 * @param n_steps     Steps T, at least 1.
 * @param channels    Channels C, at least 1.
 * @param batch       Batch rows B. Default: 1.
 * @param height      Height H of the map. Default: 1.
 * @param width       Width W of the map. Default: 1.
 * @param left        Columns of zeros before the first column. Default: 0.
 * @param right       Columns of zeros after the last column. Default: 0.
 * @param top         Rows of zeros above the first row. Default: 0.
 * @param bottom      Rows of zeros below the last row. Default: 0.
 * @return The descriptor.
 */
constexpr synfire_pad_desc pad_desc(synfire_buffer source, synfire_buffer destination, steps n_steps,
                                    std::int64_t channels, std::int64_t batch = 1, std::int64_t height = 1,
                                    std::int64_t width = 1, std::int64_t left = 0, std::int64_t right = 0,
                                    std::int64_t top = 0, std::int64_t bottom = 0) noexcept {
  auto desc = detail::empty<synfire_pad_desc>();
  desc.source = source;
  desc.destination = destination;
  desc.n_steps = n_steps.count;
  desc.channels = channels;
  desc.batch = batch;
  desc.height = height;
  desc.width = width;
  desc.left = left;
  desc.right = right;
  desc.top = top;
  desc.bottom = bottom;
  return desc;
}

/**
 * Fills in a ::synfire_pad_backward_desc.
 *
 * The gradient of a border with respect to its source. Fields that ::synfire_pad_desc has too are those of the border.
 * Elements that were left out have the gradient +0. @since ABI 0.3
 *
 * @param grad_destination Read: dL/d(destination), f32 or f64. Shape: `[T, B, M]`.
 * @param grad_source      Written, or added to: dL/d(source), of the type of `grad_destination`, which it must not
 *                         overlap. Shape: `[T, B, N]`.
 * @param n_steps          Steps T, at least 1.
 * @param channels         Channels C, at least 1.
 * @param batch            Batch rows B. Default: 1.
 * @param height           Height H of the map. Default: 1.
 * @param width            Width W of the map. Default: 1.
 * @param left             Columns of zeros before the first column. Default: 0.
 * @param right            Columns of zeros after the last column. Default: 0.
 * @param top              Rows of zeros above the first row. Default: 0.
 * @param bottom           Rows of zeros below the last row. Default: 0.
 * @return The descriptor; `accumulate` may be set in it.
 */
constexpr synfire_pad_backward_desc pad_backward_desc(synfire_buffer grad_destination, synfire_buffer grad_source,
                                                      steps n_steps, std::int64_t channels, std::int64_t batch = 1,
                                                      std::int64_t height = 1, std::int64_t width = 1,
                                                      std::int64_t left = 0, std::int64_t right = 0,
                                                      std::int64_t top = 0, std::int64_t bottom = 0) noexcept {
  auto desc = detail::empty<synfire_pad_backward_desc>();
  desc.grad_destination = grad_destination;
  desc.grad_source = grad_source;
  desc.n_steps = n_steps.count;
  desc.channels = channels;
  desc.batch = batch;
  desc.height = height;
  desc.width = width;
  desc.left = left;
  desc.right = right;
  desc.top = top;
  desc.bottom = bottom;
  return desc;
}

/**
 * Fills in a ::synfire_normalize_desc.
 *
 * A batch normalisation of y `[T, B, N]`, N = H * W * C: element i belongs to channel c = i mod C of a map `[H, W, C]`.
 * With H = W = 1, the default, every element of a row is a channel, as after a dense synapse.
 *
 * @param source           Read: y, f32 or f64. All others are of this type, except for `saved`, `lengths` and
 *                         `n_active`. Shape: `[T, B, N]`.
 * @param destination      Written: X. Must not overlap another buffer of the operation; nor must any buffer that is
 *                         written. Shape: `[T, B, N]`.
 * @param n_steps          Steps T, at least 1.
 * @param channels         Channels C, at least 1.
 * @param mode             One of `SYNFIRE_NORMALIZE_*`. Default: training.
 * @param batch            Batch rows B. Default: 1.
 * @param height           Height H of the map. Default: 1.
 * @param width            Width W of the map. Default: 1.
 * @param epsilon          The number above 0 that is added to the variance. 0 (default): 1e-5.
 * @param momentum         How far the running statistics move, above 0 and at most 1. 0 (default): 0.1. Training only.
 * @param gamma            Read. Null (default): 1. Shape: `[C]`.
 * @param beta             Read. Null (default): 0. Shape: `[C]`.
 * @param running_mean     The running mean m, 0 at the start of a training. Read, and in training written too. An
 *                         evaluation needs it; null (default) in training: no running statistics. Shape: `[C]`.
 * @param running_variance The running variance v, 1 at the start of a training. Given exactly if `running_mean` is.
 *                         Shape: `[C]`.
 * @param saved            Written for the backward: ::SYNFIRE_DTYPE_U64, for each channel the bits of mean and r as
 *                         f64, M1, and n * 2^32 + p (as 32 bits in two's complement). M1 and p are 0 in an evaluation
 *                         and in f64. Null (default): there is no backward. Shape: `[4, C]`.
 * @param factor           Written: a. Null (default): it is not given. Shape: `[C]`.
 * @param addend           Written: b. Null (default): it is not given. Shape: `[C]`.
 * @param lengths          How many steps of each batch row count, from the first on: u32, read in every run. Above T
 *                         counts as T. Null (default): all T. Shape: `[B]`.
 * @param n_active         How many batch rows count, from the first on: u32, read in every run. Above B counts as B.
 *                         Null (default): all B. Shape: `[1]`.
 * @return The descriptor.
 */
constexpr synfire_normalize_desc normalize_desc(synfire_buffer source, synfire_buffer destination, steps n_steps,
                                                std::int64_t channels, std::int32_t mode = SYNFIRE_NORMALIZE_TRAINING,
                                                std::int64_t batch = 1, std::int64_t height = 1, std::int64_t width = 1,
                                                double epsilon = 0, double momentum = 0, synfire_buffer gamma = nullptr,
                                                synfire_buffer beta = nullptr, synfire_buffer running_mean = nullptr,
                                                synfire_buffer running_variance = nullptr,
                                                synfire_buffer saved = nullptr, synfire_buffer factor = nullptr,
                                                synfire_buffer addend = nullptr, synfire_buffer lengths = nullptr,
                                                synfire_buffer n_active = nullptr) noexcept {
  auto desc = detail::empty<synfire_normalize_desc>();
  desc.source = source;
  desc.destination = destination;
  desc.n_steps = n_steps.count;
  desc.channels = channels;
  desc.mode = mode;
  desc.batch = batch;
  desc.height = height;
  desc.width = width;
  desc.epsilon = epsilon;
  desc.momentum = momentum;
  desc.gamma = gamma;
  desc.beta = beta;
  desc.running_mean = running_mean;
  desc.running_variance = running_variance;
  desc.saved = saved;
  desc.factor = factor;
  desc.addend = addend;
  desc.lengths = lengths;
  desc.n_active = n_active;
  return desc;
}

/**
 * Fills in a ::synfire_normalize_backward_desc.
 *
 * The gradients of a normalisation. Fields that ::synfire_normalize_desc has too are those of the normalisation; gamma
 * and `source` must hold what they held then.
 *
 * @param grad_destination Read: dL/dX, f32 or f64, of the type of `source`. Shape: `[T, B, N]`.
 * @param saved            Read: synfire_normalize_desc::saved, as the forward wrote it. Shape: `[4, C]`.
 * @param n_steps          Steps T, at least 1.
 * @param channels         Channels C, at least 1.
 * @param mode             One of `SYNFIRE_NORMALIZE_*`. Default: training.
 * @param batch            Batch rows B. Default: 1.
 * @param height           Height H of the map. Default: 1.
 * @param width            Width W of the map. Default: 1.
 * @param source           Read: synfire_normalize_desc::source. In an evaluation it may be null without `grad_gamma`.
 *                         Shape: `[T, B, N]`.
 * @param gamma            Read: synfire_normalize_desc::gamma. Shape: `[C]`.
 * @param grad_source      Written, or added to: dL/dy. Null (default): it is not computed. Must not overlap another
 *                         buffer of the operation; nor must any buffer that is written. At least one of the three is
 *                         needed. Shape: `[T, B, N]`.
 * @param grad_gamma       Written, or added to: dL/dgamma, also without `gamma`. Null (default): it is not computed.
 *                         Shape: `[C]`.
 * @param grad_beta        Written, or added to: dL/dbeta. Null (default): it is not computed. Shape: `[C]`.
 * @param lengths          As in the normalisation. Shape: `[B]`.
 * @param n_active         As in the normalisation. Shape: `[1]`.
 * @return The descriptor; `add_gradients` and `accumulate` may be set in it.
 */
constexpr synfire_normalize_backward_desc normalize_backward_desc(
    synfire_buffer grad_destination, synfire_buffer saved, steps n_steps, std::int64_t channels,
    std::int32_t mode = SYNFIRE_NORMALIZE_TRAINING, std::int64_t batch = 1, std::int64_t height = 1,
    std::int64_t width = 1, synfire_buffer source = nullptr, synfire_buffer gamma = nullptr,
    synfire_buffer grad_source = nullptr, synfire_buffer grad_gamma = nullptr, synfire_buffer grad_beta = nullptr,
    synfire_buffer lengths = nullptr, synfire_buffer n_active = nullptr) noexcept {
  auto desc = detail::empty<synfire_normalize_backward_desc>();
  desc.grad_destination = grad_destination;
  desc.saved = saved;
  desc.n_steps = n_steps.count;
  desc.channels = channels;
  desc.mode = mode;
  desc.batch = batch;
  desc.height = height;
  desc.width = width;
  desc.source = source;
  desc.gamma = gamma;
  desc.grad_source = grad_source;
  desc.grad_gamma = grad_gamma;
  desc.grad_beta = grad_beta;
  desc.lengths = lengths;
  desc.n_active = n_active;
  return desc;
}

/**
 * Fills in a ::synfire_rate_loss_desc.
 *
 * A loss that draws the firing rates of a layer towards a target, with its gradient: a regulariser beside the loss of a
 * task, against neurons that are silent or always active.
 *
 * @param spikes         Read, in any format that synfire_convert_spikes_desc::source may have. Shape: `[T, B, N]`,
 *                       dense or packed.
 * @param n_steps        Steps T, at least 1.
 * @param n_neurons      Neurons N of one batch row, at least 1.
 * @param target         Spikes per step, finite. The operation's value `"target"`.
 * @param strength       Factor of the loss, finite. The operation's value `"strength"`.
 * @param batch          Batch rows B. Default: 1.
 * @param lengths        How many steps of each batch row count, from the first on: u32, read in every run. Above T
 *                       counts as T. Null (default): all T. Shape: `[B]`.
 * @param n_active       How many batch rows count, from the first on: u32, read in every run. Above B counts as B. Null
 *                       (default): all B. Shape: `[1]`.
 * @param loss           Written, or added to: L, in f32 or f64. Optional; at least one output is needed. Shape: `[1]`.
 * @param grad_spike_seq Written, or added to: dL/dS, in f32, f64, f16 or bf16, such as
 *                       synfire_backward_desc::grad_spike_seq. Optional; at least one output is needed. Shape:
 *                       `[T, B, N]`.
 * @return The descriptor; `whole_layer`, `accumulate_loss` and `accumulate` may be set in it.
 */
constexpr synfire_rate_loss_desc rate_loss_desc(synfire_buffer spikes, steps n_steps, neurons n_neurons, double target,
                                                double strength, std::int64_t batch = 1,
                                                synfire_buffer lengths = nullptr, synfire_buffer n_active = nullptr,
                                                synfire_buffer loss = nullptr,
                                                synfire_buffer grad_spike_seq = nullptr) noexcept {
  auto desc = detail::empty<synfire_rate_loss_desc>();
  desc.spikes = spikes;
  desc.n_steps = n_steps.count;
  desc.n_neurons = n_neurons.count;
  desc.target = target;
  desc.strength = strength;
  desc.batch = batch;
  desc.lengths = lengths;
  desc.n_active = n_active;
  desc.loss = loss;
  desc.grad_spike_seq = grad_spike_seq;
  return desc;
}

/**
 * Fills in a ::synfire_loss_desc.
 *
 * A loss of predictions x `[T, B, C]` against labels or targets, with its gradient and the number of correct
 * predictions. Each step t of each batch row b is one sample. The definitions are those of PyTorch's `CrossEntropyLoss`
 * and `MSELoss`; what differs from them says so.
 *
 * @param source          Predictions (for a cross-entropy: logits), read: f32, f64, f16, bf16 or u32 (counts of spikes,
 *                        rounded to f32). Shape: `[T, B, C]`.
 * @param labels          The class of each row, or of each step with `targets_per_step`, read: u32. Given exactly if
 *                        `targets` are not. Shape: `[B]` or `[T, B]`.
 * @param n_classes       Classes C, or outputs, at least 1 and below 2^31.
 * @param kind            One of `SYNFIRE_LOSS_*`. Default: cross-entropy.
 * @param n_steps         Steps T. Default: 1. T * B must be below 2^32.
 * @param batch           Batch rows B. Default: 1.
 * @param lengths         How many steps of each batch row count, from the first on, read: u32. Above T counts as T.
 *                        Null (default): all T. Shape: `[B]`.
 * @param n_active        How many batch rows count, from the first on, read: u32. Above B counts as B. Null (default):
 *                        all B. Shape: `[1]`.
 * @param sample_weights  The weight of each batch row, read: f32. Null (default): all 1. Shape: `[B]`.
 * @param class_weights   The weight of each class, read: f32. Null (default): all 1. Shape: `[C]`.
 * @param loss            The loss, written, or added to with `accumulate`: f32 or f64. It is computed in f64 and
 *                        rounded once. Optional, as are all outputs; at least one is needed. Shape: `[1]`.
 * @param losses          The loss of each sample, as above, not divided by anything, written: f32, or f64 with an f64
 *                        source. Shape: `[T, B]`.
 * @param n_correct       How many samples that count have a prediction equal to their label, written, or added to with
 *                        `accumulate`: u32, which stays at the largest number once it is reached. Needs `labels`.
 *                        Shape: `[1]`.
 * @param n_counted       How many samples count, likewise. Shape: `[1]`.
 * @param predictions     The class with the largest prediction, written: u32. Of several, the lowest one; a NaN is
 *                        above every number, as in PyTorch. 0 for steps beyond `lengths` and rows beyond `n_active`.
 *                        Shape: `[T, B]`.
 * @param gradient        dL/dx, written, or added to with `add_gradient`: f32, or f64 with an f64 source. It may be
 *                        synfire_backward_desc::grad_v_seq or synfire_backward_desc::grad_spike_seq of the layer that
 *                        made `source`. Shape: `[T, B, C]`.
 * @param label_smoothing From 0 (default) to 1; cross-entropy only. The operation's value `"label_smoothing"`.
 * @param gradient_scale  A finite factor of the gradient, not of the loss, such as for 16-bit layers. 0 (default): 1.
 *                        The operation's value `"gradient_scale"`, for which 0 is 0.
 * @param ignored_label   Any number, a class or not; used with `ignores_label`.
 * @param divisor         The divisor of the mean, as above, also with `sum`; written, or added to with `accumulate`:
 *                        f32 or f64, computed in f64 and rounded once. Since ABI 0.3. Shape: `[1]`.
 * @return The descriptor; `targets_per_step`, `ignores_label`, `sum`, `accumulate` and `add_gradient` may be set in it.
 */
constexpr synfire_loss_desc loss_desc(synfire_buffer source, synfire_buffer labels, std::int64_t n_classes,
                                      std::int32_t kind = SYNFIRE_LOSS_CROSS_ENTROPY, steps n_steps = steps{1},
                                      std::int64_t batch = 1, synfire_buffer lengths = nullptr,
                                      synfire_buffer n_active = nullptr, synfire_buffer sample_weights = nullptr,
                                      synfire_buffer class_weights = nullptr, synfire_buffer loss = nullptr,
                                      synfire_buffer losses = nullptr, synfire_buffer n_correct = nullptr,
                                      synfire_buffer n_counted = nullptr, synfire_buffer predictions = nullptr,
                                      synfire_buffer gradient = nullptr, double label_smoothing = 0,
                                      double gradient_scale = 0, std::uint32_t ignored_label = 0,
                                      synfire_buffer divisor = nullptr) noexcept {
  auto desc = detail::empty<synfire_loss_desc>();
  desc.source = source;
  desc.labels = labels;
  desc.n_classes = n_classes;
  desc.kind = kind;
  desc.n_steps = n_steps.count;
  desc.batch = batch;
  desc.lengths = lengths;
  desc.n_active = n_active;
  desc.sample_weights = sample_weights;
  desc.class_weights = class_weights;
  desc.loss = loss;
  desc.losses = losses;
  desc.n_correct = n_correct;
  desc.n_counted = n_counted;
  desc.predictions = predictions;
  desc.gradient = gradient;
  desc.label_smoothing = label_smoothing;
  desc.gradient_scale = gradient_scale;
  desc.ignored_label = ignored_label;
  desc.divisor = divisor;
  return desc;
}

/**
 * Fills in a ::synfire_loss_desc.
 *
 * A loss of predictions x `[T, B, C]` against labels or targets, with its gradient and the number of correct
 * predictions. Each step t of each batch row b is one sample. The definitions are those of PyTorch's `CrossEntropyLoss`
 * and `MSELoss`; what differs from them says so.
 *
 * @param source          Predictions (for a cross-entropy: logits), read: f32, f64, f16, bf16 or u32 (counts of spikes,
 *                        rounded to f32). Shape: `[T, B, C]`.
 * @param targets         The target of each element, or with `targets_per_step` of each step, read: f32, or f64 with an
 *                        f64 source. For a cross-entropy they are the probabilities of the classes. Shape: `[B, C]` or
 *                        `[T, B, C]`.
 * @param n_classes       Classes C, or outputs, at least 1 and below 2^31.
 * @param kind            One of `SYNFIRE_LOSS_*`. Default: cross-entropy.
 * @param n_steps         Steps T. Default: 1. T * B must be below 2^32.
 * @param batch           Batch rows B. Default: 1.
 * @param lengths         How many steps of each batch row count, from the first on, read: u32. Above T counts as T.
 *                        Null (default): all T. Shape: `[B]`.
 * @param n_active        How many batch rows count, from the first on, read: u32. Above B counts as B. Null (default):
 *                        all B. Shape: `[1]`.
 * @param sample_weights  The weight of each batch row, read: f32. Null (default): all 1. Shape: `[B]`.
 * @param class_weights   The weight of each class, read: f32. Null (default): all 1. Shape: `[C]`.
 * @param loss            The loss, written, or added to with `accumulate`: f32 or f64. It is computed in f64 and
 *                        rounded once. Optional, as are all outputs; at least one is needed. Shape: `[1]`.
 * @param losses          The loss of each sample, as above, not divided by anything, written: f32, or f64 with an f64
 *                        source. Shape: `[T, B]`.
 * @param n_correct       How many samples that count have a prediction equal to their label, written, or added to with
 *                        `accumulate`: u32, which stays at the largest number once it is reached. Needs `labels`.
 *                        Shape: `[1]`.
 * @param n_counted       How many samples count, likewise. Shape: `[1]`.
 * @param predictions     The class with the largest prediction, written: u32. Of several, the lowest one; a NaN is
 *                        above every number, as in PyTorch. 0 for steps beyond `lengths` and rows beyond `n_active`.
 *                        Shape: `[T, B]`.
 * @param gradient        dL/dx, written, or added to with `add_gradient`: f32, or f64 with an f64 source. It may be
 *                        synfire_backward_desc::grad_v_seq or synfire_backward_desc::grad_spike_seq of the layer that
 *                        made `source`. Shape: `[T, B, C]`.
 * @param label_smoothing From 0 (default) to 1; cross-entropy only. The operation's value `"label_smoothing"`.
 * @param gradient_scale  A finite factor of the gradient, not of the loss, such as for 16-bit layers. 0 (default): 1.
 *                        The operation's value `"gradient_scale"`, for which 0 is 0.
 * @param ignored_label   Any number, a class or not; used with `ignores_label`.
 * @param divisor         The divisor of the mean, as above, also with `sum`; written, or added to with `accumulate`:
 *                        f32 or f64, computed in f64 and rounded once. Since ABI 0.3. Shape: `[1]`.
 * @return The descriptor; `targets_per_step`, `ignores_label`, `sum`, `accumulate` and `add_gradient` may be set in it.
 */
constexpr synfire_loss_desc loss_desc_with_targets(
    synfire_buffer source, synfire_buffer targets, std::int64_t n_classes,
    std::int32_t kind = SYNFIRE_LOSS_CROSS_ENTROPY, steps n_steps = steps{1}, std::int64_t batch = 1,
    synfire_buffer lengths = nullptr, synfire_buffer n_active = nullptr, synfire_buffer sample_weights = nullptr,
    synfire_buffer class_weights = nullptr, synfire_buffer loss = nullptr, synfire_buffer losses = nullptr,
    synfire_buffer n_correct = nullptr, synfire_buffer n_counted = nullptr, synfire_buffer predictions = nullptr,
    synfire_buffer gradient = nullptr, double label_smoothing = 0, double gradient_scale = 0,
    std::uint32_t ignored_label = 0, synfire_buffer divisor = nullptr) noexcept {
  auto desc = detail::empty<synfire_loss_desc>();
  desc.source = source;
  desc.targets = targets;
  desc.n_classes = n_classes;
  desc.kind = kind;
  desc.n_steps = n_steps.count;
  desc.batch = batch;
  desc.lengths = lengths;
  desc.n_active = n_active;
  desc.sample_weights = sample_weights;
  desc.class_weights = class_weights;
  desc.loss = loss;
  desc.losses = losses;
  desc.n_correct = n_correct;
  desc.n_counted = n_counted;
  desc.predictions = predictions;
  desc.gradient = gradient;
  desc.label_smoothing = label_smoothing;
  desc.gradient_scale = gradient_scale;
  desc.ignored_label = ignored_label;
  desc.divisor = divisor;
  return desc;
}

/**
 * Fills in a ::synfire_fill_desc.
 *
 * A fill of a buffer with one value.
 *
 * @param buffer Every element is written.
 * @param value  The new value of every element, rounded to the buffer's type as by synfire_buffer_fill(). The
 *               operation's value `"value"`.
 * @return The descriptor.
 */
constexpr synfire_fill_desc fill_desc(synfire_buffer buffer, double value) noexcept {
  auto desc = detail::empty<synfire_fill_desc>();
  desc.buffer = buffer;
  desc.value = value;
  return desc;
}

/**
 * Fills in a ::synfire_scale_add_desc.
 *
 * destination = keep * destination + scale * source, element by element.
 *
 * @param source      Read: f32, f16 or bf16, or f64 with an f64 destination.
 * @param destination Read and written: f32, f16 or bf16, not necessarily the type of `source`, or f64 with an f64
 *                    source. It has as many elements and the same row pitch as `source`. It may be the same buffer as
 *                    `source`, but must not overlap it otherwise. Shape: that of `source`.
 * @param scale       Finite; rounded to the type of the arithmetic. The operation's value `"scale"`.
 * @param keep        Finite; rounded to the type of the arithmetic. With 0, `destination` is not read, so that a NaN in
 *                    it does not persist. The operation's value `"keep"`.
 * @return The descriptor.
 */
constexpr synfire_scale_add_desc scale_add_desc(synfire_buffer source, synfire_buffer destination, double scale,
                                                double keep) noexcept {
  auto desc = detail::empty<synfire_scale_add_desc>();
  desc.source = source;
  desc.destination = destination;
  desc.scale = scale;
  desc.keep = keep;
  return desc;
}

/**
 * Fills in a ::synfire_combine_desc.
 *
 * Several arrays `[T, B, ..]` that become one, where branches of a network meet: the type of `destination` and `kind`
 * say what is computed.
 *
 * @param sources     Read: `[T, B, N]`, or in a concatenation `[T, B, H * W * C_i]`, where C_i is entry i of
 *                    `channels`. The same buffer may occur several times.
 * @param n_sources   How many `sources` there are: 2 for AND and IAND, else 1 to 16. A single one is converted.
 * @param destination Written. Must not overlap a source. Shape: `[T, B, N]`, dense or packed.
 * @param n_steps     Steps T, at least 1.
 * @param n_neurons   Neurons N of one batch row of `destination`, at least 1: H * W * C.
 * @param kind        One of `SYNFIRE_COMBINE_*`. Default: the sum.
 * @param batch       Batch rows B. Default: 1.
 * @return The descriptor; `channels`, `n_channels`, `bounds` and `n_bounds` may be set in it.
 */
constexpr synfire_combine_desc combine_desc(const synfire_buffer* sources, std::uint64_t n_sources,
                                            synfire_buffer destination, steps n_steps, neurons n_neurons,
                                            std::int32_t kind = SYNFIRE_COMBINE_SUM, std::int64_t batch = 1) noexcept {
  auto desc = detail::empty<synfire_combine_desc>();
  desc.sources = sources;
  desc.n_sources = n_sources;
  desc.destination = destination;
  desc.n_steps = n_steps.count;
  desc.n_neurons = n_neurons.count;
  desc.kind = kind;
  desc.batch = batch;
  return desc;
}

/**
 * Fills in a ::synfire_combine_backward_desc.
 *
 * The gradient of a combination with respect to one of its sources, from g = dL/d(destination). Fields that
 * ::synfire_combine_desc has too are those of the combination.
 *
 * @param grad_destination g, read: f32, f16 or bf16, or f64 with an f64 `grad_source`. Shape: `[T, B, N]`.
 * @param grad_source      Written, or added to: dL/d(source) `[T, B, N]`, or in a concatenation `[T, B, H * W * C_i]`;
 *                         f32, f16 or bf16, or f64 with an f64 `grad_destination`. Must not overlap another buffer of
 *                         the operation.
 * @param n_steps          Steps T, at least 1.
 * @param n_neurons        Neurons N of one batch row of the destination, at least 1.
 * @param kind             One of `SYNFIRE_COMBINE_*`. Default: the sum.
 * @param batch            Batch rows B. Default: 1.
 * @param source           Number of the source whose gradient is computed, from 0. Default: 0.
 * @param other            Read: the other source, b for the gradient of a, in any format that
 *                         synfire_convert_spikes_desc::source may have. For AND and IAND, which need it. Shape:
 *                         `[T, B, N]`, dense or packed.
 * @return The descriptor; `channels`, `n_channels` and `accumulate` may be set in it.
 */
constexpr synfire_combine_backward_desc combine_backward_desc(synfire_buffer grad_destination,
                                                              synfire_buffer grad_source, steps n_steps,
                                                              neurons n_neurons,
                                                              std::int32_t kind = SYNFIRE_COMBINE_SUM,
                                                              std::int64_t batch = 1, std::int32_t source = 0,
                                                              synfire_buffer other = nullptr) noexcept {
  auto desc = detail::empty<synfire_combine_backward_desc>();
  desc.grad_destination = grad_destination;
  desc.grad_source = grad_source;
  desc.n_steps = n_steps.count;
  desc.n_neurons = n_neurons.count;
  desc.kind = kind;
  desc.batch = batch;
  desc.source = source;
  desc.other = other;
  return desc;
}

/**
 * Fills in a ::synfire_group_mean_desc.
 *
 * Means over groups of neighbours: several outputs vote for each class. Group j of a row has the elements j * M to j *
 * M + M - 1, M being `group_size`.
 *
 * @param source      Read: f32, f16 or bf16, or f64 with an f64 destination. Shape: `[T, B, G * M]`.
 * @param destination Written: f32, f16 or bf16, not necessarily the type of `source`, or f64 with an f64 source. Must
 *                    not overlap `source`. Shape: `[T, B, G]`.
 * @param n_steps     Steps T, at least 1.
 * @param n_groups    Groups G of one batch row, at least 1.
 * @param group_size  Elements M of one group, 1 to 2^24.
 * @param batch       Batch rows B. Default: 1.
 * @return The descriptor.
 */
constexpr synfire_group_mean_desc group_mean_desc(synfire_buffer source, synfire_buffer destination, steps n_steps,
                                                  std::int64_t n_groups, std::int64_t group_size,
                                                  std::int64_t batch = 1) noexcept {
  auto desc = detail::empty<synfire_group_mean_desc>();
  desc.source = source;
  desc.destination = destination;
  desc.n_steps = n_steps.count;
  desc.n_groups = n_groups;
  desc.group_size = group_size;
  desc.batch = batch;
  return desc;
}

/**
 * Fills in a ::synfire_group_mean_backward_desc.
 *
 * The gradient of means over groups: each element of a group receives the gradient of its mean, divided by M, in f32
 * (f64 in f64). Fields that ::synfire_group_mean_desc has too are those of the means.
 *
 * @param grad_destination Read: f32, f16 or bf16, or f64 with an f64 `grad_source`. Shape: `[T, B, G]`.
 * @param grad_source      Written, or added to: f32, f16 or bf16, or f64 with an f64 `grad_destination`. Must not
 *                         overlap `grad_destination`. Shape: `[T, B, G * M]`.
 * @param n_steps          Steps T, at least 1.
 * @param n_groups         Groups G of one batch row, at least 1.
 * @param group_size       Elements M of one group, 1 to 2^24.
 * @param batch            Batch rows B. Default: 1.
 * @return The descriptor; `accumulate` may be set in it.
 */
constexpr synfire_group_mean_backward_desc group_mean_backward_desc(synfire_buffer grad_destination,
                                                                    synfire_buffer grad_source, steps n_steps,
                                                                    std::int64_t n_groups, std::int64_t group_size,
                                                                    std::int64_t batch = 1) noexcept {
  auto desc = detail::empty<synfire_group_mean_backward_desc>();
  desc.grad_destination = grad_destination;
  desc.grad_source = grad_source;
  desc.n_steps = n_steps.count;
  desc.n_groups = n_groups;
  desc.group_size = group_size;
  desc.batch = batch;
  return desc;
}

/**
 * Fills in a ::synfire_update_parameter_desc.
 *
 * One step of gradient descent on a parameter of a layer.
 *
 * @param name          A parameter of the model, `v_threshold` or `v_reset`; not a parameter of the surrogate. With a
 *                      second name (`tau` of PLIF), the step is taken in that quantity.
 * @param gradient      dL/dp, read: f32 (f64 in an f64 layer), with as many elements as the parameter has values.
 *                      Shape: `[1]`, `[C]` or `[N]`.
 * @param learning_rate Finite. The operation's value `"learning_rate"`.
 * @return The descriptor; `bounds`, `lower` and `upper` may be set in it.
 */
constexpr synfire_update_parameter_desc update_parameter_desc(const char* name, synfire_buffer gradient,
                                                              double learning_rate) noexcept {
  auto desc = detail::empty<synfire_update_parameter_desc>();
  desc.name = name;
  desc.gradient = gradient;
  desc.learning_rate = learning_rate;
  return desc;
}

/**
 * Fills in a ::synfire_state_desc.
 *
 * Rows of the state of a layer, and a buffer, for synfire_layer_reset_rows() and the functions that follow it. A row is
 * a batch row: N values of each state variable, and the spikes of its history (synfire_layer_desc::history_steps),
 * which are reset, copied to other layers, and in snapshots.
 *
 * @param first_row First batch row. Default: 0.
 * @param n_rows    How many batch rows. 0 (default): all from `first_row` on.
 * @param name      The state variable to read or write, `"v"` or `"w"`. Default: `"v"`. Only functions that read or
 *                  write rows use it.
 * @param buffer    A buffer: reset_rows reads `[B]` where one is given, read_rows writes `[n_rows, N]`, write_rows
 *                  reads `[n_rows, N]`, snapshot writes it and restore reads it.
 * @return The descriptor.
 */
constexpr synfire_state_desc state_desc(std::int64_t first_row = 0, std::int64_t n_rows = 0, const char* name = nullptr,
                                        synfire_buffer buffer = nullptr) noexcept {
  auto desc = detail::empty<synfire_state_desc>();
  desc.first_row = first_row;
  desc.n_rows = n_rows;
  desc.name = name;
  desc.buffer = buffer;
  return desc;
}

/**
 * Fills in a ::synfire_copy_rows_desc.
 *
 * Rows of the state of one layer to copy to another.
 *
 * @param source          The layer to read, of the same model, number of neurons, arithmetic and number of steps in its
 *                        history. It may be the layer that is written: its rows can be copied to other rows of it.
 * @param first_row       First batch row of `source`. Default: 0.
 * @param n_rows          How many batch rows. 0 (default): all of `source` from `first_row` on.
 * @param destination_row First batch row to write. Default: 0.
 * @return The descriptor.
 */
constexpr synfire_copy_rows_desc copy_rows_desc(synfire_layer source, std::int64_t first_row = 0,
                                                std::int64_t n_rows = 0, std::int64_t destination_row = 0) noexcept {
  auto desc = detail::empty<synfire_copy_rows_desc>();
  desc.source = source;
  desc.first_row = first_row;
  desc.n_rows = n_rows;
  desc.destination_row = destination_row;
  return desc;
}

/**
 * Fills in a ::synfire_synapse_forward_desc.
 *
 * The product of a synapse with its input: y = W x + b for every step and batch row.
 *
 * @param input         Read. Spikes in any format, counts in u8, or values: f32, f16 or bf16 (f64 in an f64 synapse).
 *                      Shape: `[T, B, K]`, dense or packed.
 * @param output        Written: f32 (f64 in an f64 synapse). Must not overlap `input`. Shape: `[T, B, N]`.
 * @param n_steps       Steps T, at least 1.
 * @param batch         Batch rows B. Default: 1.
 * @param n_active      u32, read: only this many batch rows, from the first on, are active; the outputs of others are
 *                      +0. More than B count as B. Default: all rows are active. Shape: `[1]`.
 * @param input_mask    Dropout: inputs `[B, K]` that count in every step, ::SYNFIRE_DTYPE_BITS (`[B, ceil(K/32)]`
 *                      words), as synfire_dropout() draws them, read. Others count as +0. Default: all inputs count,
 *                      and nothing is scaled.
 * @param input_scale   The factor on W x, f32 (f64 in an f64 synapse), read. Needed with `input_mask`, and only with
 *                      it. Shape: `[1]`.
 * @param mask_channels Dropout of whole channels: `input_mask` is `[B, mask_channels]`, and input i uses bit i mod
 *                      `mask_channels`, which must divide K. With the channels of a map, all places of a channel are
 *                      kept or dropped together. 0 without a mask. Default: K, a bit for each input. Since ABI 0.3.
 * @param history       The spikes of the last M steps before step 0, the earliest one first, for a synapse with delays;
 *                      any other one refuses it. ::SYNFIRE_DTYPE_BITS (`[M, B, ceil(K/32)]` words), read. Default:
 *                      there were none. Since ABI 0.3.
 * @param next_history  The `history` of the next T steps, likewise, written; rows that are not active get theirs of
 *                      `history`. Must not overlap `history`, which the backward reads: copy it there after that. Since
 *                      ABI 0.3. Shape: `[M, B, K]`.
 * @return The descriptor; `round_delays` may be set in it.
 */
constexpr synfire_synapse_forward_desc synapse_forward_desc(
    synfire_buffer input, synfire_buffer output, steps n_steps, std::int64_t batch = 1,
    synfire_buffer n_active = nullptr, synfire_buffer input_mask = nullptr, synfire_buffer input_scale = nullptr,
    std::int64_t mask_channels = 0, synfire_buffer history = nullptr, synfire_buffer next_history = nullptr) noexcept {
  auto desc = detail::empty<synfire_synapse_forward_desc>();
  desc.input = input;
  desc.output = output;
  desc.n_steps = n_steps.count;
  desc.batch = batch;
  desc.n_active = n_active;
  desc.input_mask = input_mask;
  desc.input_scale = input_scale;
  desc.mask_channels = mask_channels;
  desc.history = history;
  desc.next_history = next_history;
  return desc;
}

/**
 * Fills in a ::synfire_synapse_backward_desc.
 *
 * The gradients of a product, from dL/dy.
 *
 * @param grad_output   dL/dy, read: f32 (f64 in an f64 synapse). Shape: `[T, B, N]`.
 * @param n_steps       Steps T, at least 1.
 * @param batch         Batch rows B. Default: 1.
 * @param input         The input of the forward, read, for the gradients of weights and bias. Null: these are not
 *                      computed. A population code needs it for `grad_input` too, also if it is frozen. Shape:
 *                      `[T, B, K]`, dense or packed.
 * @param grad_input    dL/dx, written: f32 (f64 in an f64 synapse). Null: it is not computed. At least one of the two
 *                      is needed. Shape: `[T, B, K]`.
 * @param n_active      As synfire_synapse_forward_desc::n_active: other rows count nowhere, and their dL/dx is +0.
 *                      Shape: `[1]`.
 * @param input_mask    As synfire_synapse_forward_desc::input_mask, and the same as in the forward. Shape: `[B, K]`.
 * @param input_scale   As synfire_synapse_forward_desc::input_scale, and the same as in the forward. Shape: `[1]`.
 * @param mask_channels As synfire_synapse_forward_desc::mask_channels, and the same as in the forward. Since ABI 0.3.
 * @param history       As synfire_synapse_forward_desc::history, and the same as in the forward: its spikes count in
 *                      the gradients of the arrays, and have no dL/dx. Since ABI 0.3. Shape: `[M, B, K]`.
 * @return The descriptor; `add_gradients` and `add_input_gradient` may be set in it.
 */
constexpr synfire_synapse_backward_desc synapse_backward_desc(
    synfire_buffer grad_output, steps n_steps, std::int64_t batch = 1, synfire_buffer input = nullptr,
    synfire_buffer grad_input = nullptr, synfire_buffer n_active = nullptr, synfire_buffer input_mask = nullptr,
    synfire_buffer input_scale = nullptr, std::int64_t mask_channels = 0, synfire_buffer history = nullptr) noexcept {
  auto desc = detail::empty<synfire_synapse_backward_desc>();
  desc.grad_output = grad_output;
  desc.n_steps = n_steps.count;
  desc.batch = batch;
  desc.input = input;
  desc.grad_input = grad_input;
  desc.n_active = n_active;
  desc.input_mask = input_mask;
  desc.input_scale = input_scale;
  desc.mask_channels = mask_channels;
  desc.history = history;
  return desc;
}

/**
 * Fills in a ::synfire_dropout_desc.
 *
 * Draws which neurons of each batch row dropout keeps, for all steps of a sequence: a mask and a factor, which products
 * of synapses take (synfire_synapse_forward_desc::input_mask and synfire_synapse_forward_desc::input_scale).
 *
 * @param mask        Written: `[B, N]` of ::SYNFIRE_DTYPE_BITS, `[B, ceil(N/32)]` words: 1 is kept. Bits beyond N are
 *                    0.
 * @param scale       Written, f32 or f64: 1 / (1 - p). Must not overlap `mask`. Shape: `[1]`.
 * @param n_neurons   Neurons N of one batch row, at least 1, at most 2^34.
 * @param batch       Batch rows B, at most 2^32. Default: 1.
 * @param probability The probability p with which a neuron is dropped, from 0 (default) to less than 1. The operation's
 *                    value `"probability"`.
 * @param seed        Any number. Different seeds give independent masks. The operation's value `"seed"`.
 * @param offset      Number of the mask in the sequence of the seed. In a graph, this is the mask of the first replay;
 *                    each replay draws the next one. The operation's value `"offset"`.
 * @return The descriptor.
 */
constexpr synfire_dropout_desc dropout_desc(synfire_buffer mask, synfire_buffer scale, neurons n_neurons,
                                            std::int64_t batch = 1, double probability = 0, std::uint64_t seed = 0,
                                            std::uint64_t offset = 0) noexcept {
  auto desc = detail::empty<synfire_dropout_desc>();
  desc.mask = mask;
  desc.scale = scale;
  desc.n_neurons = n_neurons.count;
  desc.batch = batch;
  desc.probability = probability;
  desc.seed = seed;
  desc.offset = offset;
  return desc;
}

/**
 * Fills in a ::synfire_optimizer_step_desc.
 *
 * A step of an optimiser. Zero means the default in every field except `struct_size`.
 *
 * @param learning_rate   Positive and finite. Default: that of the optimiser. The operation's value `"learning_rate"`.
 * @param weight_decay    Finite, at least 0. Default: that of the optimiser. The operation's value `"weight_decay"`.
 * @param clip_norm       Finite, at least 0. Default: that of the optimiser. The operation's value `"clip_norm"`.
 * @param warmup_steps    Steps of the linear warm-up, 0 to 2^53. Default: 0. The operation's value `"warmup_steps"`.
 *                        Since ABI 0.3.
 * @param schedule_steps  The steps N of the schedule, 1 to 2^53; needed unless the schedule is constant. Default: 0.
 *                        The operation's value `"schedule_steps"`. Since ABI 0.3.
 * @param schedule_factor The factor e of the schedule, 0 to 1. 0: 0 of a cosine, 0.1 of ::SYNFIRE_SCHEDULE_STEP. The
 *                        operation's value `"schedule_factor"`. Since ABI 0.3.
 * @param schedule        One of `SYNFIRE_SCHEDULE_*`. Default: ::SYNFIRE_SCHEDULE_CONSTANT. The operation's value
 *                        `"schedule"`. Since ABI 0.3; before, it had to be 0.
 * @return The descriptor.
 */
constexpr synfire_optimizer_step_desc optimizer_step_desc(double learning_rate = 0, double weight_decay = 0,
                                                          double clip_norm = 0, std::int64_t warmup_steps = 0,
                                                          std::int64_t schedule_steps = 0, double schedule_factor = 0,
                                                          std::int32_t schedule = SYNFIRE_SCHEDULE_CONSTANT) noexcept {
  auto desc = detail::empty<synfire_optimizer_step_desc>();
  desc.learning_rate = learning_rate;
  desc.weight_decay = weight_decay;
  desc.clip_norm = clip_norm;
  desc.warmup_steps = warmup_steps;
  desc.schedule_steps = schedule_steps;
  desc.schedule_factor = schedule_factor;
  desc.schedule = schedule;
  return desc;
}

/**
 * Fills in a ::synfire_synapse_desc.
 *
 * How to create a synapse. Zero means the default in every field except `struct_size` and the two lengths.
 *
 * @param n_inputs       Inputs K, 1 to 2^29; of counts, whose bound is 255, at most 4,210,752.
 * @param n_outputs      Outputs N, at least 1.
 * @param input_kind     One of `SYNFIRE_INPUT_*`. Default: spikes.
 * @param dtype          Type of weights, bias, outputs and gradients: `SYNFIRE_DTYPE_F32` (default) or
 *                       `SYNFIRE_DTYPE_F64`.
 * @param initialization One of `SYNFIRE_INITIALIZATION_*`. Default: uniform.
 * @param gradient_bits  Bits of the grid on which dL/dy is rounded for the gradients of weights and bias in f32: 24, 32
 *                       or 0. Default 0: 24 for spikes and counts, 32 for values. With 24, a weight whose input is
 *                       active only where the gradient is below 2^-24 of its output's largest gets exactly 0. Ignored
 *                       in f64.
 * @param gain           A factor on the initial weights, at most 1e30. Default: 1.
 * @param seed           Any number. Different seeds give independent weights.
 * @param weight_bits    Bits of the weights on their grid in f32 (::synfire_synapse_forward_desc): 8, 16, 24 or 0.
 *                       Default 0: 24. Training keeps the weights in f32, and products, dL/dx too, read those on the
 *                       grid: weights of 8 bits are integers of one byte, synfire_synapse_read_integers(). Must be 0 in
 *                       f64. Since ABI 0.3.
 * @param count_scale    As synfire_conv2d_desc::count_scale: the value of a count of 1. 0 or 1 unless the input is
 *                       counts. Default: 1. Since ABI 0.3.
 * @return The descriptor; `bias`, `frozen`, `no_self_connections`, `mask` and `mask_length` may be set in it.
 */
constexpr synfire_synapse_desc synapse_desc(std::int64_t n_inputs, std::int64_t n_outputs,
                                            std::int32_t input_kind = SYNFIRE_INPUT_SPIKES,
                                            std::int32_t dtype = SYNFIRE_DTYPE_F32,
                                            std::int32_t initialization = SYNFIRE_INITIALIZATION_UNIFORM,
                                            std::int32_t gradient_bits = 0, double gain = 1, std::uint64_t seed = 0,
                                            std::int32_t weight_bits = 0, float count_scale = 1) noexcept {
  auto desc = detail::empty<synfire_synapse_desc>();
  desc.n_inputs = n_inputs;
  desc.n_outputs = n_outputs;
  desc.input_kind = input_kind;
  desc.dtype = dtype;
  desc.initialization = initialization;
  desc.gradient_bits = gradient_bits;
  desc.gain = gain;
  desc.seed = seed;
  desc.weight_bits = weight_bits;
  desc.count_scale = count_scale;
  return desc;
}

/**
 * Fills in a ::synfire_optimizer_desc.
 *
 * How to create an optimiser. Zero means the default in every field except `struct_size`.
 *
 * @param kind             One of `SYNFIRE_OPTIMIZER_KIND_*`. Default: stochastic gradient descent.
 * @param learning_rate    Positive and finite. Default: 1e-3.
 * @param weight_decay     Finite, at least 0. Default: 0; 1e-2 of ::SYNFIRE_OPTIMIZER_KIND_ADAMW.
 * @param momentum         Finite, at least 0. Default: 0, which allocates nothing. Ignored by Adam.
 * @param beta1            Adam only: at least 0 and below 1. Default: 0.9.
 * @param beta2            Adam only: at least 0 and below 1. Default: 0.999.
 * @param epsilon          Adam only: finite, at least 0. Default: 1e-8.
 * @param clip_norm        All members' gradients are multiplied by clip_norm / (norm + 1e-6) where that is below 1; the
 *                         norm is that of all of them together. Finite, at least 0. Default 0: never.
 * @param batches_per_step How many batches each step is taken for, n: every step operation adds the gradients of its
 *                         batch to their mean, and every n-th takes the step (synfire_graph_record_optimizer_step()).
 *                         With more than 1, the mean takes as much memory as the gradients. At most 2^20. Default: 1.
 *                         Since ABI 0.3; before, it had to be 0.
 * @return The descriptor; `nesterov` may be set in it.
 */
constexpr synfire_optimizer_desc optimizer_desc(std::int32_t kind = SYNFIRE_OPTIMIZER_KIND_SGD,
                                                double learning_rate = 0, double weight_decay = 0, double momentum = 0,
                                                double beta1 = 0, double beta2 = 0, double epsilon = 0,
                                                double clip_norm = 0, std::uint32_t batches_per_step = 1) noexcept {
  auto desc = detail::empty<synfire_optimizer_desc>();
  desc.kind = kind;
  desc.learning_rate = learning_rate;
  desc.weight_decay = weight_decay;
  desc.momentum = momentum;
  desc.beta1 = beta1;
  desc.beta2 = beta2;
  desc.epsilon = epsilon;
  desc.clip_norm = clip_norm;
  desc.batches_per_step = batches_per_step;
  return desc;
}

/**
 * Fills in a ::synfire_communicator_desc.
 *
 * How to create a communicator. Zero means the default in every field except `struct_size`. Since ABI 0.3.
 *
 * @param transport  One of `SYNFIRE_TRANSPORT_*`.
 * @param rank       This rank, 0 to `size` - 1; another one on every thread or process of the group. 0 if `size` is 0.
 * @param size       How many ranks the group has, at most 65,536. Default 0: rank and size are those of the
 *                   environment, from the first of these pairs of variables that is there: `SYNFIRE_RANK` and
 *                   `SYNFIRE_WORLD_SIZE`, `OMPI_COMM_WORLD_RANK` and `OMPI_COMM_WORLD_SIZE`, `PMI_RANK` and `PMI_SIZE`,
 *                   `SLURM_PROCID` and `SLURM_NTASKS`; without any, those of MPI. What MPI says must agree with both.
 * @param id         The name of the group among those of the process, 1 to 64 bytes: ranks of one name belong together.
 *                   Null: the group without a name. For ::SYNFIRE_TRANSPORT_LOOPBACK alone.
 * @param timeout_ns The longest wait for the other ranks, in nanoseconds. Default: 60 seconds. A negative value waits
 *                   for ever.
 * @return The descriptor.
 */
constexpr synfire_communicator_desc communicator_desc(std::int32_t transport = SYNFIRE_TRANSPORT_AUTO,
                                                      std::int32_t rank = 0, std::int32_t size = 0,
                                                      const char* id = nullptr, std::int64_t timeout_ns = 0) noexcept {
  auto desc = detail::empty<synfire_communicator_desc>();
  desc.transport = transport;
  desc.rank = rank;
  desc.size = size;
  desc.id = id;
  desc.timeout_ns = timeout_ns;
  return desc;
}

/**
 * Fills in a ::synfire_network_desc.
 *
 * How to create a network. Zero means the default in every field except `struct_size` and `n_steps`.
 *
 * @param n_steps      Steps T of one replay, at least 1.
 * @param dtype        Type of weights, states and arithmetic: `SYNFIRE_DTYPE_F32` (default) or `SYNFIRE_DTYPE_F64`.
 * @param batch        Batch rows B, at most 2^32 - 1. Default: 1.
 * @param seed         Any number. It is mixed with the name of each stage, and with what is drawn, to the seed from
 *                     which that stage draws, unless the stage's value `"seed"` says otherwise; and to the seed of the
 *                     order of the training rows. So networks of different seeds have no numbers in common. The page
 *                     "Networks" states the function.
 * @param n_slots      As synfire_graph_desc::n_slots, of the inference graph. Default: 0.
 * @param own_loss     One of `SYNFIRE_OWN_LOSS_*`: a program may compute gradients itself. The network then needs an
 *                     optimiser, and no loss, and `transient_arrays` must be 0, because the two graphs pass arrays on
 *                     to each other. Default: ::SYNFIRE_OWN_LOSS_NONE. Since ABI 0.3.
 * @param communicator The ranks that train and evaluate the network together, each a part of the rows of every batch:
 *                     rank r of W ranks has the rows from the integer part of r B / W to that of (r + 1) B / W. Each
 *                     rank makes the same calls with the same stages, values and data; building, new data, training and
 *                     evaluation are calls that wait for the other ranks, and compare. Results and files have the bits
 *                     of one rank. Inference is each rank's own, with all B rows. `batch` must be at least W,
 *                     `own_loss` 0, and graphs of training and evaluation are not given out. Null: none. Since ABI 0.3.
 * @return The descriptor; `drop_last` and `transient_arrays` may be set in it.
 */
constexpr synfire_network_desc network_desc(steps n_steps, std::int32_t dtype = SYNFIRE_DTYPE_F32,
                                            std::int64_t batch = 1, std::uint64_t seed = 0, std::uint32_t n_slots = 0,
                                            std::int32_t own_loss = SYNFIRE_OWN_LOSS_NONE,
                                            synfire_communicator communicator = nullptr) noexcept {
  auto desc = detail::empty<synfire_network_desc>();
  desc.n_steps = n_steps.count;
  desc.dtype = dtype;
  desc.batch = batch;
  desc.seed = seed;
  desc.n_slots = n_slots;
  desc.own_loss = own_loss;
  desc.communicator = communicator;
  return desc;
}

/**
 * Fills in a ::synfire_one_to_one_desc.
 *
 * How to create a one-to-one synapse. Zero means the default in every field except `struct_size` and `channels`.
 *
 * @param channels       Channels C, at least 1: the number of neurons if they have no map.
 * @param input_kind     One of `SYNFIRE_INPUT_*`. Default: spikes.
 * @param scope          Who shares a weight and a bias: one of `SYNFIRE_SCOPE_*`. Default: nobody.
 * @param dtype          Type of weights, bias, outputs and gradients: `SYNFIRE_DTYPE_F32` (default) or
 *                       `SYNFIRE_DTYPE_F64`.
 * @param height         Height H of the map. Default: 1.
 * @param width          Width W of the map. Default: 1.
 * @param gradient_bits  As synfire_synapse_desc::gradient_bits: 24 or 32. Default 0: 32.
 * @param initial_weight The weights of a new synapse, finite in its type. Default: 1.
 * @return The descriptor; `bias` and `frozen` may be set in it.
 */
constexpr synfire_one_to_one_desc one_to_one_desc(std::int64_t channels, std::int32_t input_kind = SYNFIRE_INPUT_SPIKES,
                                                  std::int32_t scope = SYNFIRE_SCOPE_NEURON,
                                                  std::int32_t dtype = SYNFIRE_DTYPE_F32, std::int64_t height = 1,
                                                  std::int64_t width = 1, std::int32_t gradient_bits = 0,
                                                  double initial_weight = 1) noexcept {
  auto desc = detail::empty<synfire_one_to_one_desc>();
  desc.channels = channels;
  desc.input_kind = input_kind;
  desc.scope = scope;
  desc.dtype = dtype;
  desc.height = height;
  desc.width = width;
  desc.gradient_bits = gradient_bits;
  desc.initial_weight = initial_weight;
  return desc;
}

/**
 * Fills in a ::synfire_population_desc.
 *
 * How to create a population code. Zero means the default in every field except `struct_size`, `channels` and
 * `n_cells`.
 *
 * @param channels Channels C, at least 1: the number of inputs if they have no map.
 * @param n_cells  Cells P of each input, at least 1.
 * @param dtype    Type of mu, sigma, outputs and gradients: `SYNFIRE_DTYPE_F32` (default) or `SYNFIRE_DTYPE_F64`.
 * @param height   Height H of the map. Default: 1.
 * @param width    Width W of the map. Default: 1.
 * @param lower    The mu of the first cell of each input at the start. Finite in its type. Default, if `upper` is 0
 *                 too: -3.
 * @param upper    The mu of the last cell, above `lower`; those between are at equal distances, and a single cell is in
 *                 the middle. Default, if `lower` is 0 too: 3.
 * @param sigma    The sigma of all cells at the start, above 0. Default: the distance between the mu of neighbouring
 *                 cells, or `upper` - `lower` of a single one.
 * @return The descriptor; `frozen` may be set in it.
 */
constexpr synfire_population_desc population_desc(std::int64_t channels, std::int64_t n_cells,
                                                  std::int32_t dtype = SYNFIRE_DTYPE_F32, std::int64_t height = 1,
                                                  std::int64_t width = 1, double lower = 0, double upper = 0,
                                                  double sigma = 0) noexcept {
  auto desc = detail::empty<synfire_population_desc>();
  desc.channels = channels;
  desc.n_cells = n_cells;
  desc.dtype = dtype;
  desc.height = height;
  desc.width = width;
  desc.lower = lower;
  desc.upper = upper;
  desc.sigma = sigma;
  return desc;
}

/**
 * Fills in a ::synfire_delayed_desc.
 *
 * How to create a synapse with delays. Zero means the default in every field except `struct_size`, the two lengths and
 * `max_delay`.
 *
 * @param n_inputs       Inputs K, at least 1. (M + 1) * (K rounded up to a multiple of 32) is at most 2^29; with delays
 *                       of inputs or of outputs, K rounded up is.
 * @param n_outputs      Outputs N, at least 1.
 * @param max_delay      The longest delay M in steps, 1 to 255 of connections and 1 to 65,535 of inputs and of outputs.
 * @param dtype          Type of the arrays, outputs and gradients: `SYNFIRE_DTYPE_F32` (default) or
 *                       `SYNFIRE_DTYPE_F64`.
 * @param initialization As synfire_synapse_desc::initialization, of weights and bias.
 * @param delays_of      One of `SYNFIRE_DELAYS_OF_*`. Default: connections.
 * @param width          The width of learnt delays at the start, in steps, at least 1e-3 and at most 1e6. Default: M /
 *                       2. Must be 0 with fixed delays.
 * @param gradient_bits  As synfire_synapse_desc::gradient_bits.
 * @param weight_bits    As synfire_synapse_desc::weight_bits, of the w[n, k, d].
 * @param gain           A factor on the initial weights, at most 1e30. Default: 1.
 * @param seed           Any number. Different seeds give independent weights and delays.
 * @return The descriptor; `learn_delays`, `bias`, `frozen`, `delays`, `delays_length`, `mask` and `mask_length` may be
 * set in it.
 */
constexpr synfire_delayed_desc delayed_desc(std::int64_t n_inputs, std::int64_t n_outputs, std::int32_t max_delay,
                                            std::int32_t dtype = SYNFIRE_DTYPE_F32,
                                            std::int32_t initialization = SYNFIRE_INITIALIZATION_UNIFORM,
                                            std::int32_t delays_of = SYNFIRE_DELAYS_OF_CONNECTIONS, double width = 0,
                                            std::int32_t gradient_bits = 0, std::int32_t weight_bits = 0,
                                            double gain = 1, std::uint64_t seed = 0) noexcept {
  auto desc = detail::empty<synfire_delayed_desc>();
  desc.n_inputs = n_inputs;
  desc.n_outputs = n_outputs;
  desc.max_delay = max_delay;
  desc.dtype = dtype;
  desc.initialization = initialization;
  desc.delays_of = delays_of;
  desc.width = width;
  desc.gradient_bits = gradient_bits;
  desc.weight_bits = weight_bits;
  desc.gain = gain;
  desc.seed = seed;
  return desc;
}

/**
 * Fills in a ::synfire_conv2d_desc.
 *
 * How to create a convolution. Zero means the default in every field except `struct_size` and the two numbers of
 * channels.
 *
 * @param channels            Channels C of the input, at least 1.
 * @param output_channels     Channels of the output, at least 1.
 * @param input_kind          One of `SYNFIRE_INPUT_*`. Default: spikes.
 * @param dtype               Type of weights, bias, outputs and gradients: `SYNFIRE_DTYPE_F32` (default) or
 *                            `SYNFIRE_DTYPE_F64`.
 * @param initialization      One of `SYNFIRE_INITIALIZATION_*`; the number of inputs in their formulas is that of one
 *                            output, kernel_height * kernel_width * C / groups. Default: uniform.
 * @param height              Height H of the input. Default: 1.
 * @param width               Width W of the input. Default: 1.
 * @param kernel_height       Height of the kernel. Default: 1.
 * @param kernel_width        Width of the kernel. Default: 1.
 * @param stride_y            Rows from one output to the next. Default: 1.
 * @param stride_x            Columns from one output to the next. Default: 1.
 * @param padding_y           Rows outside the map, on both sides. Default: 0.
 * @param padding_x           Columns outside the map, on both sides. Default: 0.
 * @param dilation_y          Rows from one row of the kernel to the next. Default: 1.
 * @param dilation_x          Columns from one column of the kernel to the next. Default: 1.
 * @param groups              Groups of channels, which must divide both numbers of channels: outputs of a group read
 *                            the inputs of that group, in blocks of neighbouring channels. As many groups as channels:
 *                            each has its own kernel. Default: 1.
 * @param output_padding_y    Rows that are added at the end of the output of a transposed convolution, below its stride
 *                            or its dilation. Default: 0.
 * @param output_padding_x    Columns likewise. Default: 0.
 * @param gradient_bits       Bits of the grid of dL/dy in the gradients of weights and bias in f32: 24 or 32. Default:
 *                            32, because after a normalisation or a pool many places have the same dL/dy, whose errors
 *                            add up. Ignored in f64.
 * @param input_gradient_bits Bits of the grid of dL/dy in the gradient of the input in f32: 16, 24 or 32. With 24 its
 *                            error is about 6e-7 of the root mean square of the gradients of a row, with 16 about
 *                            1.5e-4. Default: 24. Ignored in f64.
 * @param count_bound         The largest count of the input, 1 to 255. Ignored for other inputs. Default: 255.
 * @param count_scale         The value of a count of 1, above 0 and at most 1: weights are multiplied by it, and
 *                            rounded to f32, before they are put on their grid. 0 or 1 unless the input is counts.
 *                            Default: 1.
 * @param weight_bits         As synfire_synapse_desc::weight_bits: 8, 16, 24 or 0. Default 0: 24. Must be 0 in f64.
 * @param gain                A factor on the initial weights, at most 1e30. Default: 1.
 * @param seed                Any number. Different seeds give independent weights.
 * @return The descriptor; `transposed`, `bias`, `frozen`, `mask` and `mask_length` may be set in it.
 */
constexpr synfire_conv2d_desc conv2d_desc(
    std::int64_t channels, std::int64_t output_channels, std::int32_t input_kind = SYNFIRE_INPUT_SPIKES,
    std::int32_t dtype = SYNFIRE_DTYPE_F32, std::int32_t initialization = SYNFIRE_INITIALIZATION_UNIFORM,
    std::int64_t height = 1, std::int64_t width = 1, std::int64_t kernel_height = 1, std::int64_t kernel_width = 1,
    std::int64_t stride_y = 1, std::int64_t stride_x = 1, std::int64_t padding_y = 0, std::int64_t padding_x = 0,
    std::int64_t dilation_y = 1, std::int64_t dilation_x = 1, std::int64_t groups = 1,
    std::int64_t output_padding_y = 0, std::int64_t output_padding_x = 0, std::int32_t gradient_bits = 0,
    std::int32_t input_gradient_bits = 24, std::int32_t count_bound = 255, float count_scale = 1,
    std::int32_t weight_bits = 0, double gain = 1, std::uint64_t seed = 0) noexcept {
  auto desc = detail::empty<synfire_conv2d_desc>();
  desc.channels = channels;
  desc.output_channels = output_channels;
  desc.input_kind = input_kind;
  desc.dtype = dtype;
  desc.initialization = initialization;
  desc.height = height;
  desc.width = width;
  desc.kernel_height = kernel_height;
  desc.kernel_width = kernel_width;
  desc.stride_y = stride_y;
  desc.stride_x = stride_x;
  desc.padding_y = padding_y;
  desc.padding_x = padding_x;
  desc.dilation_y = dilation_y;
  desc.dilation_x = dilation_x;
  desc.groups = groups;
  desc.output_padding_y = output_padding_y;
  desc.output_padding_x = output_padding_x;
  desc.gradient_bits = gradient_bits;
  desc.input_gradient_bits = input_gradient_bits;
  desc.count_bound = count_bound;
  desc.count_scale = count_scale;
  desc.weight_bits = weight_bits;
  desc.gain = gain;
  desc.seed = seed;
  return desc;
}

// ---- generated from synfire.h by bindings/cpp/generate.py: end descriptors

// ---- Owning a handle ------------------------------------------------------------------------------------------------

/** @cond DETAIL */
namespace detail {

// ---- generated from synfire.h by bindings/cpp/generate.py: begin destroy

inline void destroy(synfire_context handle) noexcept {
  synfire_context_destroy(handle);
}
inline void destroy(synfire_buffer handle) noexcept {
  synfire_buffer_destroy(handle);
}
inline void destroy(synfire_layer handle) noexcept {
  synfire_layer_destroy(handle);
}
inline void destroy(synfire_model handle) noexcept {
  synfire_model_destroy(handle);
}
inline void destroy(synfire_surrogate handle) noexcept {
  synfire_surrogate_destroy(handle);
}
inline void destroy(synfire_synapse handle) noexcept {
  synfire_synapse_destroy(handle);
}
inline void destroy(synfire_graph handle) noexcept {
  synfire_graph_destroy(handle);
}
inline void destroy(synfire_optimizer handle) noexcept {
  synfire_optimizer_destroy(handle);
}
inline void destroy(synfire_communicator handle) noexcept {
  synfire_communicator_destroy(handle);
}
inline void destroy(synfire_network handle) noexcept {
  synfire_network_destroy(handle);
}

// ---- generated from synfire.h by bindings/cpp/generate.py: end destroy

// A text of the length that the call first gives, its null included.
template <class Write>
std::string written(Write write) {
  std::uint64_t bytes = 0;
  check(write(nullptr, &bytes));
  std::string text(static_cast<std::size_t>(bytes), '\0');
  check(write(text.data(), &bytes));
  text.resize(text.size() - 1);
  return text;
}

}  // namespace detail
/** @endcond */

/** The base of Context, Buffer, Layer, Graph and all other objects: owns one handle, and destroys it with its `_destroy`
 *  function, which never blocks and is legal on any thread. */
template <class Handle>
class Owner {
 public:
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;

  /**
   * The handle, for calls of the C ABI.
   *
   * @return The handle, still owned by this object; null when it owns none.
   */
  Handle get() const noexcept { return handle_; }

  /**
   * Converts to the handle, wherever the C ABI takes one. A temporary does not convert, because the handle would not
   * outlive it.
   *
   * @return The same as get().
   */
  operator Handle() const& noexcept { return handle_; }
  /** @cond DETAIL */
  operator Handle() const&& = delete;
  /** @endcond */

  /**
   * Gives up ownership of the handle; this object is null afterwards.
   *
   * @return The handle, which the caller must destroy.
   */
  [[nodiscard]] Handle release() noexcept { return std::exchange(handle_, nullptr); }

  /** Destroys the handle now; this object is null afterwards. */
  void reset() noexcept { detail::destroy(release()); }

  /**
   * True if there is a handle.
   *
   * @return False when default-constructed, moved from, released or reset.
   */
  explicit operator bool() const noexcept { return handle_ != nullptr; }

 protected:
  /** @cond DETAIL */
  Owner() noexcept = default;
  explicit Owner(Handle handle) noexcept : handle_(handle) {}
  Owner(Owner&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owner& operator=(Owner&& other) noexcept {
    if (this != &other) {
      reset();
      handle_ = other.release();
    }
    return *this;
  }
  ~Owner() { detail::destroy(handle_); }

  Handle handle_ = nullptr;
  /** @endcond */
};

// ---- Contexts -------------------------------------------------------------------------------------------------------

/** One device, a CUDA GPU or the host. See ::synfire_context. */
class Context : public Owner<synfire_context> {
 public:
  /**
   * Creates a context. It is not an error if automatic selection chooses the host; see properties(). Calls
   * synfire_context_create().
   *
   * @param desc What to create. Default: a GPU if there is a usable one, else the host.
   * @throws error
   */
  explicit Context(const synfire_context_desc& desc = context_desc()) {
    const synfire_context_desc sized = detail::sized(desc);
    check(synfire_context_create(&sized, &handle_));
  }

  /**
   * Takes ownership of a handle.
   *
   * @param handle A context that nothing else destroys, or null.
   */
  explicit Context(synfire_context handle) noexcept : Owner(handle) {}

  /**
   * Describes what the context runs on. Calls synfire_context_get_properties().
   *
   * @return The properties.
   * @throws error
   */
  synfire_context_properties properties() const {
    auto properties = detail::empty<synfire_context_properties>();
    check(synfire_context_get_properties(handle_, &properties));
    return properties;
  }

  /**
   * Waits for everything enqueued on the context's own stream. Calls synfire_context_synchronize().
   *
   * @throws error
   */
  void synchronize() const { check(synfire_context_synchronize(handle_)); }

  /**
   * Frees what was destroyed and is no longer in use. Calls synfire_context_reclaim() with this context.
   *
   * @return How many destroyed objects are still in use.
   * @throws error
   */
  std::uint64_t reclaim() const {
    std::uint64_t still_queued = 0;
    check(synfire_context_reclaim(handle_, &still_queued));
    return still_queued;
  }

  // ---- generated from synfire.h by bindings/cpp/generate.py: begin context members

  /**
   * Reports the memory that a context and all objects on it hold.
   *
   * Calls synfire_context_get_memory_use().
   *
   * @return `use`, as synfire_context_get_memory_use() gives it.
   * @throws error
   */
  synfire_memory_use memory_use() const {
    auto use = detail::empty<synfire_memory_use>();
    check(synfire_context_get_memory_use(handle_, &use));
    return use;
  }

  // ---- generated from synfire.h by bindings/cpp/generate.py: end context members
};

/**
 * Frees what was destroyed and is no longer in use, on every context of the process. Calls synfire_context_reclaim()
 * with null.
 *
 * @return How many destroyed objects are still in use.
 * @throws error
 */
inline std::uint64_t reclaim() {
  std::uint64_t still_queued = 0;
  check(synfire_context_reclaim(nullptr, &still_queued));
  return still_queued;
}

// ---- Buffers --------------------------------------------------------------------------------------------------------

namespace detail {

/** @cond DETAIL */
template <class Keeper>
void SYNFIRE_CALL give_back(void* user) noexcept {
  const std::unique_ptr<Keeper> keeper(static_cast<Keeper*>(user));
  if constexpr (std::is_invocable_v<Keeper&>) {
    try {
      (*keeper)();
    } catch (...) {  // there is no call that could rethrow it
    }
  }
}
/** @endcond */

}  // namespace detail

/** Typed memory of a context, owned or borrowed. See ::synfire_buffer. */
class Buffer : public Owner<synfire_buffer> {
 public:
  /** No buffer. */
  Buffer() noexcept = default;

  /**
   * Creates a buffer. Calls synfire_buffer_create().
   *
   * @param context The context it belongs to.
   * @param desc    What to create; see buffer_desc() and borrowed_desc().
   * @throws error
   */
  Buffer(const Context& context, const synfire_buffer_desc& desc)
      : dtype_(desc.dtype), shape_(shape_of(desc)), host_visible_(is_host_visible(context, desc)) {
    const synfire_buffer_desc sized = detail::sized(desc);
    check(synfire_buffer_create(context, &sized, &handle_));
  }

  /**
   * Creates a buffer over borrowed memory, together with a keeper that keeps the memory until its last use by the
   * buffer, by graphs that use it, by layers whose tape was made from it, and by GPU work. Then the keeper is called,
   * if it can be called without arguments, and destroyed. This happens on any thread, inside a call that creates
   * something, a reclaim(), or a wait with WaitPolicy::block and no time-out. The keeper may use the library.
   * Exceptions that it throws are ignored. See synfire_buffer_desc::release.
   *
   * @code
   * std::vector<float> values(n);
   * synfire::Buffer x(context, synfire::borrowed_desc(values.data(), n, SYNFIRE_MEMORY_HOST), std::move(values));
   * @endcode
   *
   * @param context The context it belongs to.
   * @param desc    The memory; see borrowed_desc(). The wrapper sets its `release`.
   * @param keeper  The owner of the memory, such as a `std::shared_ptr` or a vector that is moved in, or a function to
   *                call.
   * @throws error; the keeper is then destroyed without being called.
   */
  template <class Keeper>
  Buffer(const Context& context, const synfire_buffer_desc& desc, Keeper&& keeper)
      : dtype_(desc.dtype), shape_(shape_of(desc)), host_visible_(is_host_visible(context, desc)) {
    using Kept = std::decay_t<Keeper>;
    auto kept = std::make_unique<Kept>(std::forward<Keeper>(keeper));
    synfire_buffer_desc lent = detail::sized(desc);
    lent.release = &detail::give_back<Kept>;
    lent.release_user = kept.get();
    check(synfire_buffer_create(context, &lent, &handle_));
    static_cast<void>(kept.release());  // now owned by the library
  }

  /**
   * Takes ownership of a handle.
   *
   * @param context The context it belongs to.
   * @param handle  A buffer that nothing else destroys.
   * @param desc    The descriptor with which it was created.
   * @throws error; the caller then still owns the handle.
   */
  Buffer(const Context& context, synfire_buffer handle, const synfire_buffer_desc& desc)
      : dtype_(desc.dtype), shape_(shape_of(desc)), host_visible_(is_host_visible(context, desc)) {
    handle_ = handle;
  }

  /**
   * Takes ownership of a handle whose descriptor is not known. Calls synfire_buffer_get_desc().
   *
   * @param handle A buffer that nothing else destroys.
   * @throws error; the handle is then destroyed.
   */
  explicit Buffer(synfire_buffer handle) : Owner(handle) {
    auto desc = detail::empty<synfire_buffer_desc>();
    check(synfire_buffer_get_desc(handle_, &desc));
    dtype_ = desc.dtype;
    shape_ = shape_of(desc);
    host_visible_ = desc.data != nullptr;
  }

  /**
   * Creates a buffer over the memory of a tensor of another library, without a copy. Calls synfire_buffer_from_dlpack().
   *
   * @param context     The context it belongs to.
   * @param tensor      A `DLManagedTensorVersioned *`, or a `DLManagedTensor *`. The buffer owns it from now on.
   * @param unversioned True for a `DLManagedTensor *`.
   * @param stream      The stream on which the owner has made the data ready; null: it is ready.
   * @param words       What integers of 32 bits are: `SYNFIRE_DTYPE_U32`, `SYNFIRE_DTYPE_BITS` or
   *                    `SYNFIRE_DTYPE_TIME_BITS`.
   * @return The buffer.
   * @throws error; the tensor then still belongs to the caller.
   */
  static Buffer from_dlpack(const Context& context, void* tensor, bool unversioned = false,
                            synfire_stream stream = nullptr, std::int32_t words = SYNFIRE_DTYPE_U32) {
    auto desc = detail::empty<synfire_from_dlpack_desc>();
    desc.tensor = tensor;
    desc.unversioned = unversioned ? 1 : 0;
    desc.stream = stream;
    desc.words = words;
    synfire_buffer made = nullptr;
    check(synfire_buffer_from_dlpack(context.get(), &desc, &made));
    return Buffer(made);
  }

  /**
   * Gives the memory to another library as a tensor, without a copy. Calls synfire_buffer_to_dlpack().
   *
   * @param unversioned True for a `DLManagedTensor *`, for libraries that know no other.
   * @param stream      The stream on which the other library uses it first; null: nothing waits.
   * @param with_sign   True if integers of 32 and 64 bits are given as those with a sign.
   * @return A `DLManagedTensorVersioned *` or `DLManagedTensor *`, whose deleter must be called once. It keeps the memory.
   * @throws error
   */
  void* to_dlpack(bool unversioned = false, synfire_stream stream = nullptr, bool with_sign = false) const {
    auto desc = detail::empty<synfire_to_dlpack_desc>();
    desc.unversioned = unversioned ? 1 : 0;
    desc.stream = stream;
    desc.with_sign = with_sign ? 1 : 0;
    void* tensor = nullptr;
    check(synfire_buffer_to_dlpack(handle_, &desc, &tensor));
    return tensor;
  }

  /**
   * The type of the elements.
   *
   * @return One of `SYNFIRE_DTYPE_*`.
   */
  std::int32_t dtype() const noexcept { return dtype_; }

  /**
   * The shape with which it was created.
   *
   * @return Its lengths; rank 0 if it was created with only a number of elements.
   */
  const Shape& shape() const noexcept { return shape_; }

  /**
   * True if the host can access the memory: pinned and host memory and, on a host context, device memory. A transient
   * buffer has none.
   *
   * @return True if data() works.
   */
  bool host_visible() const noexcept { return host_visible_; }

  /**
   * The number of elements. Calls synfire_buffer_get_data().
   *
   * @return Elements; for packed spikes, words.
   * @throws error
   */
  std::size_t size() const { return address().size; }

  /**
   * The elements, if the host can access the memory. No replay may use it at the same time. Calls
   * synfire_buffer_get_data().
   *
   * @tparam T Element type of the buffer; see dtype_of.
   * @return All elements; valid as long as the buffer.
   * @throws error with ::SYNFIRE_ERROR_INVALID_ARGUMENT and the rule SYN-BUFFER-TYPE or, for memory of a GPU,
   *         SYN-BUFFER-KIND.
   */
  template <class T>
  View<T> data() {
    const Address at = host_address<T>();
    return View<T>(static_cast<T*>(at.data), at.size);
  }

  /**
   * The elements, read-only. Otherwise the same as the non-const data().
   *
   * @tparam T Element type of the buffer; see dtype_of.
   * @return All elements; valid as long as the buffer.
   * @throws error
   */
  template <class T>
  View<const T> data() const {
    const Address at = host_address<T>();
    return View<const T>(static_cast<const T*>(at.data), at.size);
  }

  /**
   * Copies elements into the buffer. Calls synfire_buffer_upload().
   *
   * @param values `count` elements of the buffer's type.
   * @param count  How many.
   * @param first  The first element of the buffer to write.
   * @throws error, also with the rule SYN-BUFFER-TYPE, or SYN-BUFFER-RANGE if they do not fit.
   */
  template <class T>
  void upload(const T* values, std::size_t count, std::size_t first = 0) {
    check_range<T>("upload", count, first);
    check(synfire_buffer_upload(handle_, first * sizeof(T), values, count * sizeof(T)));
  }

  /**
   * Copies the whole buffer in. Calls synfire_buffer_upload().
   *
   * @param values Exactly size() elements of the buffer's type.
   * @throws error, also with the rule SYN-BUFFER-TYPE or SYN-BUFFER-SIZE.
   */
  template <class T>
  void upload(const std::vector<T>& values) {
    check_whole<T>("upload", values.size());
    check(synfire_buffer_upload(handle_, 0, values.data(), values.size() * sizeof(T)));
  }

  /**
   * Copies elements out of the buffer. Calls synfire_buffer_download().
   *
   * @param[out] values Receives `count` elements of the buffer's type.
   * @param count       How many.
   * @param first       The first element of the buffer to read.
   * @throws error, also with the rule SYN-BUFFER-TYPE, or SYN-BUFFER-RANGE if the buffer has fewer.
   */
  template <class T>
  void download(T* values, std::size_t count, std::size_t first = 0) const {
    check_range<T>("download", count, first);
    check(synfire_buffer_download(handle_, first * sizeof(T), values, count * sizeof(T)));
  }

  /**
   * Copies the whole buffer into an existing vector. Calls synfire_buffer_download().
   *
   * @param[out] values Receives all elements; it must already hold exactly size().
   * @throws error, also with the rule SYN-BUFFER-TYPE or SYN-BUFFER-SIZE.
   */
  template <class T>
  void download(std::vector<T>& values) const {
    check_whole<T>("download", values.size());
    check(synfire_buffer_download(handle_, 0, values.data(), values.size() * sizeof(T)));
  }

  /**
   * Copies the whole buffer out. Calls synfire_buffer_download().
   *
   * @tparam T Element type of the buffer; see dtype_of.
   * @return All elements.
   * @throws error, also with the rule SYN-BUFFER-TYPE.
   */
  template <class T>
  std::vector<T> download() const {
    check_type<T>("download");
    std::vector<T> values(size());
    download(values);
    return values;
  }

  /**
   * Sets every element to one value. Calls synfire_buffer_fill().
   *
   * @param value Rounded to the buffer's type; for packed spikes, an integer.
   * @throws error
   */
  void fill(double value) { check(synfire_buffer_fill(handle_, value)); }

  /**
   * Reports that the memory was written behind the library's back, for example through data(). A tape that needs the
   * old contents is then stale. Calls synfire_buffer_mark_written().
   *
   * @throws error
   */
  void mark_written() { check(synfire_buffer_mark_written(handle_)); }

  // ---- generated from synfire.h by bindings/cpp/generate.py: begin buffer members
  // ---- generated from synfire.h by bindings/cpp/generate.py: end buffer members

 private:
  /** @cond DETAIL */
  struct Address {
    void* data;
    std::size_t size;  // in elements
  };
  /** @endcond */

  static bool is_host_visible(const Context& context, const synfire_buffer_desc& desc) {
    if (desc.memory == SYNFIRE_MEMORY_TRANSIENT) return false;
    return desc.memory != SYNFIRE_MEMORY_DEVICE || context.properties().backend == SYNFIRE_BACKEND_HOST;
  }

  // synfire_buffer_create() refuses a descriptor with a length after a 0.
  static Shape shape_of(const synfire_buffer_desc& desc) {
    const std::uint64_t* const lengths = desc.shape;
    if (lengths[0] == 0) return {};
    if (lengths[1] == 0) return {lengths[0]};
    if (lengths[2] == 0) return {lengths[0], lengths[1]};
    if (lengths[3] == 0) return {lengths[0], lengths[1], lengths[2]};
    return {lengths[0], lengths[1], lengths[2], lengths[3]};
  }

  Address address() const {
    void* data = nullptr;
    std::uint64_t bytes = 0;
    check(synfire_buffer_get_data(handle_, &data, &bytes));
    return {data, static_cast<std::size_t>(bytes) / detail::element_size(dtype_)};
  }

  template <class T>
  Address host_address() const {
    const Address at = address();  // a null or stale handle is refused before anything else
    check_type<T>("data");
    if (!host_visible_)
      refuse("SYN-BUFFER-KIND", "data",
             "the buffer is SYNFIRE_MEMORY_DEVICE on a GPU, which can be downloaded, or transient; use pinned memory");
    return at;
  }

  template <class T>
  void check_type(const char* function) const {
    if (handle_ != nullptr && !detail::holds<T>(dtype_))
      refuse("SYN-BUFFER-TYPE", function,
             "T is " + detail::dtype_name(dtype_of<T>) + "; the buffer's elements are " + detail::dtype_name(dtype_));
  }

  template <class T>
  void check_range(const char* function, std::size_t count, std::size_t first) const {
    const std::size_t held = size();
    check_type<T>(function);
    if (first > held || count > held - first)
      refuse("SYN-BUFFER-RANGE", function,
             "first is " + std::to_string(first) + " and count " + std::to_string(count) + "; the buffer has " +
                 std::to_string(held) + " elements");
  }

  template <class T>
  void check_whole(const char* function, std::size_t count) const {
    const std::size_t held = size();
    check_type<T>(function);
    if (count != held)
      refuse("SYN-BUFFER-SIZE", function,
             "values has " + std::to_string(count) + " elements; the buffer has " + std::to_string(held));
  }

  [[noreturn]] static void refuse(const char* rule, const char* function, const std::string& text) {
    throw error(SYNFIRE_ERROR_INVALID_ARGUMENT,
                std::string("[") + rule + "] synfire::Buffer::" + function + ": " + text);
  }

  std::int32_t dtype_ = SYNFIRE_DTYPE_F32;
  Shape shape_;
  bool host_visible_ = false;
};

// ---- Models and surrogates as text ------------------------------------------------------------------------------------

/**
 * Describes a text to load: `load_desc("klif", text)`.
 *
 * @param name What its file would be called without `.hpp`, which names the struct: `"klif"` is of `struct Klif`.
 * @param text The header that `synfire_add_model` takes; it must stay valid until it is loaded.
 * @return The descriptor; everything else may be set in it.
 */
constexpr synfire_load_desc load_desc(const char* name, std::string_view text) noexcept {
  auto desc = detail::empty<synfire_load_desc>();
  desc.name = name;
  desc.text = text.empty() ? "" : text.data();
  desc.text_bytes = text.size();
  return desc;
}

/**
 * Describes a file to load, which is called like its struct: `klif.hpp` has `struct Klif`.
 *
 * @param path The path of the file, in UTF-8.
 * @return The descriptor; everything else may be set in it.
 */
constexpr synfire_load_desc load_file_desc(const char* path) noexcept {
  auto desc = detail::empty<synfire_load_desc>();
  desc.file = path;
  return desc;
}

/** Hears how loading goes on: one of `SYNFIRE_LOAD_*` and the time since it began. It returns whether to go on; false
 *  ends the compiler, and the load throws. What it throws ends the compiler too, and comes out of the load. */
using LoadProgress = std::function<bool(std::int32_t stage, std::chrono::nanoseconds elapsed)>;

/** @cond DETAIL */
namespace detail {

inline synfire_status load(synfire_context context, const synfire_load_desc& desc, synfire_model* model) noexcept {
  return synfire_model_load(context, &desc, model);
}
inline synfire_status load(synfire_context context, const synfire_load_desc& desc,
                           synfire_surrogate* surrogate) noexcept {
  return synfire_surrogate_load(context, &desc, surrogate);
}
inline synfire_status get_info(synfire_model model, synfire_load_info& info) noexcept {
  return synfire_model_get_info(model, &info);
}
inline synfire_status get_info(synfire_surrogate surrogate, synfire_load_info& info) noexcept {
  return synfire_surrogate_get_info(surrogate, &info);
}
inline synfire_status check_loaded(synfire_model model, std::uint64_t seed, std::uint64_t n_samples,
                                   synfire_check_report& report) noexcept {
  return synfire_model_check(model, seed, n_samples, &report);
}
inline synfire_status check_loaded(synfire_surrogate surrogate, std::uint64_t seed, std::uint64_t n_samples,
                                   synfire_check_report& report) noexcept {
  return synfire_surrogate_check(surrogate, seed, n_samples, &report);
}

// Who hears of a load, and what that threw.
struct Hearing {
  const LoadProgress& progress;
  std::exception_ptr thrown;
};
inline std::int32_t SYNFIRE_CALL hear(void* user, std::int32_t stage, std::uint64_t nanoseconds) noexcept {
  auto& hearing = *static_cast<Hearing*>(user);
  try {
    const std::chrono::nanoseconds elapsed(static_cast<std::chrono::nanoseconds::rep>(nanoseconds));
    return hearing.progress(stage, elapsed) ? 0 : 1;
  } catch (...) {
    hearing.thrown = std::current_exception();
    return 1;
  }
}

}  // namespace detail
/** @endcond */

/** A model or a surrogate that was loaded as text: Model and Surrogate. Layers and networks that use it stay valid when
 *  it is destroyed. **The text runs in this process, with all rights of the program.** */
template <class Handle>
class Loaded : public Owner<Handle> {
 public:
  /** Nothing. */
  Loaded() noexcept = default;

  /**
   * Loads a text or a file. Calls synfire_model_load() or synfire_surrogate_load().
   *
   * @param context  The context in which it may be used.
   * @param desc     What to load; see load_desc() and load_file_desc().
   * @param progress Hears how loading goes on. Empty: `desc.progress` does, which must not throw.
   * @throws error, with the line numbers of the text if the compiler refuses it, or what `progress` threw.
   */
  Loaded(const Context& context, const synfire_load_desc& desc, const LoadProgress& progress = nullptr) {
    synfire_load_desc sized = detail::sized(desc);
    detail::Hearing hearing{progress, nullptr};
    if (progress) {
      sized.progress = &detail::hear;
      sized.user = &hearing;
    }
    const synfire_status status = detail::load(context, sized, &this->handle_);
    if (hearing.thrown) std::rethrow_exception(hearing.thrown);
    synfire::check(status);
  }

  /**
   * Takes ownership of a handle.
   *
   * @param handle What nothing else destroys, or null.
   */
  explicit Loaded(Handle handle) noexcept : Owner<Handle>(handle) {}

  /**
   * Its id and how it was loaded. Calls synfire_model_get_info() or synfire_surrogate_get_info().
   *
   * @return The info.
   * @throws error
   */
  synfire_load_info info() const {
    auto info = detail::empty<synfire_load_info>();
    synfire::check(detail::get_info(this->handle_, info));
    return info;
  }

  /**
   * Converts to the id, for synfire_layer_desc::model or synfire_layer_desc::surrogate and wherever else a built-in one
   * is passed.
   *
   * @return info().id
   * @throws error
   */
  operator std::int32_t() const { return info().id; }

  /**
   * Compares each derivative with a central difference. Calls synfire_model_check() or synfire_surrogate_check().
   *
   * @param seed      The same seed gives the same report.
   * @param n_samples Random samples, 1 to 10,000,000.
   * @return The report.
   * @throws error
   */
  synfire_check_report check(std::uint64_t seed = 0, std::uint64_t n_samples = 1000) const {
    auto report = detail::empty<synfire_check_report>();
    synfire::check(detail::check_loaded(this->handle_, seed, n_samples, report));
    return report;
  }
};

/** A neuron model that was loaded as text. See ::synfire_model. */
using Model = Loaded<synfire_model>;

/** A surrogate that was loaded as text. See ::synfire_surrogate. */
using Surrogate = Loaded<synfire_surrogate>;

// ---- Layers ---------------------------------------------------------------------------------------------------------

/**
 * Finds a model by its name, including those added to the library. Calls synfire_model_id().
 *
 * @param name The model's name, such as `"lif"`.
 * @return The value for synfire_layer_desc::model.
 * @throws error
 */
inline std::int32_t model_id(const char* name) {
  std::int32_t id = 0;
  check(synfire_model_id(name, &id));
  return id;
}

/**
 * Finds a surrogate by its name, including those added to the library. Calls synfire_surrogate_id().
 *
 * @param name The surrogate's name, such as `"atan"`.
 * @return The value for synfire_layer_desc::surrogate.
 * @throws error
 */
inline std::int32_t surrogate_id(const char* name) {
  std::int32_t id = 0;
  check(synfire_surrogate_id(name, &id));
  return id;
}

/**
 * Computes how much memory a layer would take. Calls synfire_layer_query_memory().
 *
 * @param desc The layer.
 * @return Sizes in bytes.
 * @throws error
 */
inline synfire_layer_memory layer_memory(const synfire_layer_desc& desc) {
  const synfire_layer_desc sized = detail::sized(desc);
  auto memory = detail::empty<synfire_layer_memory>();
  check(synfire_layer_query_memory(&sized, &memory));
  return memory;
}

/** A neuron model with a fixed shape, its parameters, its state and its tape. See ::synfire_layer. */
class Layer : public Owner<synfire_layer> {
 public:
  /** No layer. */
  Layer() noexcept = default;

  /**
   * Creates a layer. Calls synfire_layer_create().
   *
   * @param context The context it belongs to.
   * @param desc    What to create; see layer_desc().
   * @throws error
   */
  Layer(const Context& context, const synfire_layer_desc& desc) : desc_(detail::sized(desc)), context_(context) {
    check(synfire_layer_create(context, &desc_, &handle_));
  }

  /**
   * Takes ownership of a handle.
   *
   * @param handle A layer that nothing else destroys.
   * @param desc   The descriptor with which it was created.
   */
  Layer(synfire_layer handle, const synfire_layer_desc& desc) noexcept : Owner(handle), desc_(detail::sized(desc)) {}

  /**
   * Takes ownership of a handle whose descriptor is not known. Calls synfire_layer_get_desc().
   *
   * @param handle A layer that nothing else destroys.
   * @throws error; the handle is then destroyed.
   */
  explicit Layer(synfire_layer handle) : Layer(nullptr, handle) {}

  /**
   * Takes ownership of a handle whose descriptor is not known. Calls synfire_layer_get_desc().
   *
   * @param context Its context, with which make_sequence() and the like make buffers; or null.
   * @param handle  A layer that nothing else destroys.
   * @throws error; the handle is then destroyed.
   */
  Layer(synfire_context context, synfire_layer handle) : Owner(handle), context_(context) {
    check(synfire_layer_get_desc(handle_, &desc_));
  }

  /**
   * The descriptor with which it was created.
   *
   * @return The descriptor.
   */
  const synfire_layer_desc& desc() const noexcept { return desc_; }

  /**
   * The size of the state.
   *
   * @return B * N elements.
   */
  std::size_t state_size() const noexcept {
    return static_cast<std::size_t>(batch()) * static_cast<std::size_t>(desc_.n_neurons);
  }

  /**
   * The shape of the layer's sequences: X, dense spikes, gradients of either.
   *
   * @return `[T, B, N]`.
   */
  Shape sequence_shape() const { return {desc_.n_steps, batch(), desc_.n_neurons}; }

  /**
   * The shape of the layer's states.
   *
   * @return `[B, N]`.
   */
  Shape state_shape() const { return {batch(), desc_.n_neurons}; }

  /**
   * The shape of the layer's packed spikes, ::SYNFIRE_DTYPE_BITS.
   *
   * @return `[T, B, ceil(N/32)]`, in words.
   */
  Shape bits_shape() const { return {desc_.n_steps, batch(), words(desc_.n_neurons)}; }

  /**
   * The shape of the layer's time-packed spikes, ::SYNFIRE_DTYPE_TIME_BITS.
   *
   * @return `[ceil(T/32), B, N]`, in words.
   */
  Shape time_bits_shape() const { return {words(desc_.n_steps), batch(), desc_.n_neurons}; }

  /**
   * Creates a buffer for a sequence of the layer: X, H or V of every step, or a gradient. Calls
   * synfire_buffer_create().
   *
   * @tparam T     Element type: the layer's own or, in a 16-bit layer, also `float`.
   * @param memory One of `SYNFIRE_MEMORY_*`.
   * @return A buffer of sequence_shape().
   * @throws error, also if the layer was made from a handle without a context, or that one is destroyed.
   */
  template <class T>
  Buffer make_sequence(std::int32_t memory = SYNFIRE_MEMORY_DEVICE) const {
    return make(buffer_desc<T>(sequence_shape(), memory));
  }

  /**
   * Creates a buffer for a sequence of a layer that was made from a handle. Calls synfire_buffer_create().
   *
   * @tparam T      Element type: the layer's own or, in a 16-bit layer, also `float`.
   * @param context The layer's context.
   * @param memory  One of `SYNFIRE_MEMORY_*`.
   * @return A buffer of sequence_shape().
   * @throws error
   */
  template <class T>
  Buffer make_sequence(const Context& context, std::int32_t memory = SYNFIRE_MEMORY_DEVICE) const {
    return Buffer(context, buffer_desc<T>(sequence_shape(), memory));
  }

  /**
   * Creates a buffer for a state of the layer: V or W before the first or after the last step, or a gradient. Calls
   * synfire_buffer_create().
   *
   * @tparam T     Element type: `double` in f64 layers, `float` in all others.
   * @param memory One of `SYNFIRE_MEMORY_*`.
   * @return A buffer of state_shape().
   * @throws error, also if the layer was made from a handle without a context, or that one is destroyed.
   */
  template <class T>
  Buffer make_state(std::int32_t memory = SYNFIRE_MEMORY_DEVICE) const {
    return make(buffer_desc<T>(state_shape(), memory));
  }

  /**
   * Creates a buffer for a state of a layer that was made from a handle. Calls synfire_buffer_create().
   *
   * @tparam T      Element type: `double` in f64 layers, `float` in all others.
   * @param context The layer's context.
   * @param memory  One of `SYNFIRE_MEMORY_*`.
   * @return A buffer of state_shape().
   * @throws error
   */
  template <class T>
  Buffer make_state(const Context& context, std::int32_t memory = SYNFIRE_MEMORY_DEVICE) const {
    return Buffer(context, buffer_desc<T>(state_shape(), memory));
  }

  /**
   * Creates a buffer for the layer's spikes. Calls synfire_buffer_create().
   *
   * @tparam T     Element type: `std::uint32_t` for packed spikes, any other for dense ones.
   * @param memory One of `SYNFIRE_MEMORY_*`.
   * @return A buffer of bits_shape() when T is `std::uint32_t`, else of sequence_shape().
   * @throws error, also if the layer was made from a handle without a context, or that one is destroyed.
   */
  template <class T = std::uint32_t>
  Buffer make_spikes(std::int32_t memory = SYNFIRE_MEMORY_DEVICE) const {
    return make(buffer_desc<T>(dtype_of<T> == SYNFIRE_DTYPE_BITS ? bits_shape() : sequence_shape(), memory));
  }

  /**
   * Creates a buffer for the spikes of a layer that was made from a handle. Calls synfire_buffer_create().
   *
   * @tparam T      Element type: `std::uint32_t` for packed spikes, any other for dense ones.
   * @param context The layer's context.
   * @param memory  One of `SYNFIRE_MEMORY_*`.
   * @return A buffer of bits_shape() when T is `std::uint32_t`, else of sequence_shape().
   * @throws error
   */
  template <class T = std::uint32_t>
  Buffer make_spikes(const Context& context, std::int32_t memory = SYNFIRE_MEMORY_DEVICE) const {
    return Buffer(context, buffer_desc<T>(dtype_of<T> == SYNFIRE_DTYPE_BITS ? bits_shape() : sequence_shape(), memory));
  }

  /**
   * Creates a buffer for the layer's time-packed spikes; its elements are `std::uint32_t`. Calls
   * synfire_buffer_create().
   *
   * @param memory One of `SYNFIRE_MEMORY_*`.
   * @return A buffer of time_bits_shape().
   * @throws error, also if the layer was made from a handle without a context, or that one is destroyed.
   */
  Buffer make_time_bits(std::int32_t memory = SYNFIRE_MEMORY_DEVICE) const {
    return make(time_bits_desc(time_bits_shape(), memory));
  }

  /**
   * Creates a buffer for the time-packed spikes of a layer that was made from a handle. Calls synfire_buffer_create().
   *
   * @param context The layer's context.
   * @param memory  One of `SYNFIRE_MEMORY_*`.
   * @return A buffer of time_bits_shape().
   * @throws error
   */
  Buffer make_time_bits(const Context& context, std::int32_t memory = SYNFIRE_MEMORY_DEVICE) const {
    return Buffer(context, time_bits_desc(time_bits_shape(), memory));
  }

  /**
   * Sets a parameter to one number for the whole layer. Calls synfire_layer_set_parameter().
   *
   * @param name  The parameter's name.
   * @param value A value in the parameter's range.
   * @throws error
   */
  void set_parameter(const char* name, double value) { set_parameter(name, &value, 1); }

  /**
   * Sets a parameter. Calls synfire_layer_set_parameter().
   *
   * @param name   The parameter's name.
   * @param values One number, or one per neuron.
   * @throws error
   */
  void set_parameter(const char* name, const std::vector<double>& values) {
    set_parameter(name, values.data(), values.size());
  }

  /**
   * Sets a parameter. Calls synfire_layer_set_parameter().
   *
   * @param name   The parameter's name.
   * @param values `count` numbers.
   * @param count  1, or N.
   * @throws error
   */
  void set_parameter(const char* name, const double* values, std::size_t count) {
    check(synfire_layer_set_parameter(handle_, name, values, count));
  }

  /**
   * Sets several parameters: all of them or, if one is refused, none. Calls synfire_layer_set_parameters().
   *
   * @param list The parameters; their names and values must stay valid until the call returns.
   * @throws error
   */
  void set_parameters(const std::vector<synfire_parameter_values>& list) {
    check(synfire_layer_set_parameters(handle_, list.data(), list.size()));
  }

  /**
   * Sets how many batch rows are active. Calls synfire_layer_set_n_active().
   *
   * @param n_rows 0 to the batch size; the first `n_rows` rows are active.
   * @throws error
   */
  void set_n_active(std::int64_t n_rows) { check(synfire_layer_set_n_active(handle_, n_rows)); }

  /**
   * Reads a parameter that is one number for the whole layer. Calls synfire_layer_get_parameter().
   *
   * @param name The parameter's name.
   * @return Its value.
   * @throws error, also with the rule SYN-PARAMETER-COUNT if there is one number per neuron.
   */
  double get_parameter(const char* name) const {
    double value = 0;
    check(synfire_layer_get_parameter(handle_, name, &value, 1));
    return value;
  }

  /**
   * Reads a parameter of every neuron. Calls synfire_layer_get_parameter().
   *
   * @param name The parameter's name.
   * @return N values; a single number is repeated.
   * @throws error
   */
  std::vector<double> get_parameter_values(const char* name) const {
    std::vector<double> values(static_cast<std::size_t>(desc_.n_neurons));
    check(synfire_layer_get_parameter(handle_, name, values.data(), values.size()));
    return values;
  }

  /**
   * Lists the parameters. Calls synfire_layer_get_parameter_info() with 0, 1, 2 ... until an index is refused, which
   * leaves its text in synfire_last_error().
   *
   * @return The model's parameters in their documented order, then the surrogate's.
   * @throws error
   */
  std::vector<synfire_parameter_info> parameters() const {
    std::vector<synfire_parameter_info> list;
    for (std::uint32_t index = 0;; ++index) {
      auto info = detail::empty<synfire_parameter_info>();
      const synfire_status status = synfire_layer_get_parameter_info(handle_, index, &info);
      if (status == SYNFIRE_ERROR_INVALID_ARGUMENT) return list;
      check(status);
      list.push_back(info);
    }
  }

  /**
   * Resets the state to its initial values. Calls synfire_layer_reset_state().
   *
   * @param stream The stream; null is the context's own.
   * @throws error
   */
  void reset_state(synfire_stream stream = nullptr) { check(synfire_layer_reset_state(handle_, stream)); }

  /**
   * Reads the state. Calls synfire_layer_read_state().
   *
   * @tparam T   `double` in f64 layers, `float` in all others.
   * @param name The state variable: `"v"`, or `"w"` in models with two variables.
   * @return state_size() values.
   * @throws error, also with the rule SYN-STATE-SIZE.
   */
  template <class T>
  std::vector<T> read_state(const char* name = "v") const {
    check_state_type<T>("read_state");
    std::vector<T> values(state_size());
    check(synfire_layer_read_state(handle_, name, values.data(), values.size() * sizeof(T)));
    return values;
  }

  /**
   * Writes the state. Calls synfire_layer_write_state().
   *
   * @param name   The state variable: `"v"`, or `"w"` in models with two variables.
   * @param values Exactly state_size() values, `double` in f64 layers, `float` in all others.
   * @throws error, also with the rule SYN-STATE-SIZE.
   */
  template <class T>
  void write_state(const char* name, const std::vector<T>& values) {
    check_state_type<T>("write_state");
    check(synfire_layer_write_state(handle_, name, values.data(), values.size() * sizeof(T)));
  }

  // ---- generated from synfire.h by bindings/cpp/generate.py: begin layer

  /**
   * Runs one forward now: the same operation that synfire_graph_record_forward() records.
   *
   * Calls synfire_layer_forward(). Reads `x` (`[T, B, N]`; unless `synapse` is given). Reads, where given, `v_init`
   * (`[B, N]`), `w_init` (`[B, N]`), `synapse_input` (`[T, B, K]`, dense or packed), `n_active` (`[1]`) and
   * `spikes_init` (`[D, B, N]`). Writes, where given, `spikes` (`[T, B, N]`, dense or packed), `v_final` (`[B, N]`),
   * `v_seq` (`[T, B, N]`), `h_seq` (`[T, B, N]`), `w_final` (`[B, N]`), `w_seq` (`[T, B, N]`) and `spikes_final`
   * (`[D, B, N]`).
   *
   * @param desc   What to do; forward_desc() helps.
   * @param stream The CUDA stream; null is the context's own.
   * @throws error
   */
  void forward(const synfire_forward_desc& desc, synfire_stream stream = nullptr) {
    const synfire_forward_desc sized = detail::sized(desc);
    check(synfire_layer_forward(handle_, &sized, stream));
  }

  /**
   * Runs one backward pass through time now, for the layer's latest forward, which must have left a tape.
   *
   * Calls synfire_layer_backward(). Reads, where given, `grad_spike_seq` (`[T, B, N]`), `grad_v_seq` (`[T, B, N]`),
   * `grad_v_final` (`[B, N]`), `grad_w_seq` (`[T, B, N]`), `grad_w_final` (`[B, N]`) and `grad_spikes_final`
   * (`[D, B, N]`). Reads and writes, where given, `grad_synapse_input` (`[T, B, K]`). Writes, where given, `grad_x_seq`
   * (`[T, B, N]`), `grad_v_init` (`[B, N]`), `grad_w_init` (`[B, N]`) and `grad_spikes_init` (`[D, B, N]`).
   *
   * @param desc   What to do; backward_desc() helps.
   * @param stream The CUDA stream; null is the context's own.
   * @throws error
   */
  void backward(const synfire_backward_desc& desc, synfire_stream stream = nullptr) {
    const synfire_backward_desc sized = detail::sized(desc);
    check(synfire_layer_backward(handle_, &sized, stream));
  }

  /**
   * Resets rows of the state to their initial values, all of them or those that a mask selects.
   * synfire_layer_reset_state() resets the whole state.
   *
   * Calls synfire_layer_reset_rows(). Reads, where given, `buffer` (`[B]`).
   *
   * @param desc   What to do; state_desc() helps.
   * @param stream The CUDA stream; null is the context's own.
   * @throws error
   */
  void reset_rows(const synfire_state_desc& desc, synfire_stream stream = nullptr) {
    const synfire_state_desc sized = detail::sized(desc);
    check(synfire_layer_reset_rows(handle_, &sized, stream));
  }

  /**
   * Copies rows of a state variable into a buffer.
   *
   * Calls synfire_layer_read_rows(). Writes `buffer` (`[n_rows, N]`).
   *
   * @param desc   What to do; state_desc() helps.
   * @param stream The CUDA stream; null is the context's own.
   * @throws error
   */
  void read_rows(const synfire_state_desc& desc, synfire_stream stream = nullptr) {
    const synfire_state_desc sized = detail::sized(desc);
    check(synfire_layer_read_rows(handle_, &sized, stream));
  }

  /**
   * Copies a buffer into rows of a state variable.
   *
   * Calls synfire_layer_write_rows(). Reads `buffer` (`[n_rows, N]`).
   *
   * @param desc   What to do; state_desc() helps.
   * @param stream The CUDA stream; null is the context's own.
   * @throws error
   */
  void write_rows(const synfire_state_desc& desc, synfire_stream stream = nullptr) {
    const synfire_state_desc sized = detail::sized(desc);
    check(synfire_layer_write_rows(handle_, &sized, stream));
  }

  /**
   * Copies rows of the state of one layer, all state variables, to another.
   *
   * Calls synfire_layer_copy_rows().
   *
   * @param desc   What to do; copy_rows_desc() helps.
   * @param stream The CUDA stream; null is the context's own.
   * @throws error
   */
  void copy_rows(const synfire_copy_rows_desc& desc, synfire_stream stream = nullptr) {
    const synfire_copy_rows_desc sized = detail::sized(desc);
    check(synfire_layer_copy_rows(handle_, &sized, stream));
  }

  /**
   * Reports the memory that a layer holds: state, parameters, and the tape and sums of its passes that ran now. Those
   * of recorded passes belong to their graph.
   *
   * Calls synfire_layer_get_memory_use().
   *
   * @return `use`, as synfire_layer_get_memory_use() gives it.
   * @throws error
   */
  synfire_memory_use memory_use() const {
    auto use = detail::empty<synfire_memory_use>();
    check(synfire_layer_get_memory_use(handle_, &use));
    return use;
  }

  /**
   * How much memory synfire_layer_run_forward() and synfire_layer_run_backward() need from the caller.
   *
   * Calls synfire_layer_get_run_memory().
   *
   * @param tape        One of `SYNFIRE_TAPE_*`.
   * @param n_steps     Steps T of the call, from 1 to the layer's; 0: the layer's.
   * @param batch       Batch rows B of the call, from 1 to the layer's; 0: the layer's.
   * @param n_gradients Gradients of parameters that the backward computes.
   * @return `tape_bytes` and `scratch_bytes`, as synfire_layer_get_run_memory() gives them.
   * @throws error
   */
  std::tuple<std::uint64_t, std::uint64_t> run_memory(std::int32_t tape, steps n_steps, std::int64_t batch,
                                                      std::uint64_t n_gradients) const {
    std::uint64_t tape_bytes = 0;
    std::uint64_t scratch_bytes = 0;
    check(synfire_layer_get_run_memory(handle_, tape, n_steps.count, batch, n_gradients, &tape_bytes, &scratch_bytes));
    return {tape_bytes, scratch_bytes};
  }

  // ---- generated from synfire.h by bindings/cpp/generate.py: end layer

  /**
   * Takes a snapshot of rows of the state. Calls synfire_layer_snapshot().
   *
   * @param desc The rows; all of them by default.
   * @return The snapshot.
   * @throws error
   */
  std::vector<unsigned char> snapshot(const synfire_state_desc& desc = detail::empty<synfire_state_desc>()) const {
    const synfire_state_desc sized = detail::sized(desc);
    std::uint64_t bytes = 0;
    check(synfire_layer_snapshot(handle_, &sized, nullptr, &bytes));
    std::vector<unsigned char> data(static_cast<std::size_t>(bytes));
    check(synfire_layer_snapshot(handle_, &sized, data.data(), &bytes));
    return data;
  }

  /**
   * Restores a snapshot. Calls synfire_layer_restore().
   *
   * @param data A snapshot from snapshot(), of a layer of this layout.
   * @param desc The rows, as many as the snapshot has; all of them by default.
   * @throws error, also if the data is not such a snapshot; the state is then unchanged.
   */
  void restore(const std::vector<unsigned char>& data,
               const synfire_state_desc& desc = detail::empty<synfire_state_desc>()) {
    const synfire_state_desc sized = detail::sized(desc);
    check(synfire_layer_restore(handle_, &sized, data.data(), data.size()));
  }

  /**
   * Runs one forward now, over addresses. Calls synfire_layer_run_forward().
   *
   * @param desc   What to read and write; addresses are not checked. It takes a tape of get_run_memory() bytes.
   * @param stream The CUDA stream; null is the context's own.
   * @throws error
   */
  void run_forward(const synfire_pointers_desc& desc, synfire_stream stream = nullptr) {
    const synfire_pointers_desc sized = detail::sized(desc);
    check(synfire_layer_run_forward(handle_, &sized, stream));
  }

  /**
   * Runs the backward of a forward over addresses. Calls synfire_layer_run_backward().
   *
   * @param desc   What to read and write; addresses are not checked.
   * @param stream The CUDA stream; null is the context's own.
   * @throws error, also if the stamp is not of a forward with these arguments.
   */
  void run_backward(const synfire_pointers_desc& desc, synfire_stream stream = nullptr) {
    const synfire_pointers_desc sized = detail::sized(desc);
    check(synfire_layer_run_backward(handle_, &sized, stream));
  }

  /**
   * The CUDA C++ of the layer's forward and backward kernels: one text that nvcc compiles without Synfire. Calls
   * synfire_layer_source().
   *
   * @return The whole text.
   * @throws error
   */
  std::string source() const {
    return detail::written(
        [&](char* text, std::uint64_t* bytes) { return synfire_layer_source(handle_, text, bytes); });
  }

 private:
  std::int64_t batch() const noexcept { return desc_.batch == 0 ? 1 : desc_.batch; }
  static std::int64_t words(std::int64_t bits) noexcept { return (bits + 31) / 32; }

  template <class T>
  void check_state_type(const char* function) const {
    static_assert(std::is_floating_point_v<T>, "a state is float or double");
    const std::int32_t held = desc_.dtype == SYNFIRE_DTYPE_F64 ? SYNFIRE_DTYPE_F64 : SYNFIRE_DTYPE_F32;
    if (handle_ != nullptr && dtype_of<T> != held)
      throw error(SYNFIRE_ERROR_INVALID_ARGUMENT, std::string("[SYN-STATE-SIZE] synfire::Layer::") + function +
                                                      ": T is " + detail::dtype_name(dtype_of<T>) +
                                                      "; the layer's state is " + detail::dtype_name(held));
  }

  // A buffer of the context with which the layer was created; stale handles are the library's to refuse.
  Buffer make(const synfire_buffer_desc& desc) const {
    struct Lent {
      explicit Lent(synfire_context handle) noexcept : context(handle) {}
      Lent(const Lent&) = delete;
      Lent& operator=(const Lent&) = delete;
      ~Lent() { static_cast<void>(context.release()); }
      Context context;
    };
    if (context_ == nullptr)
      throw error(SYNFIRE_ERROR_INVALID_HANDLE,
                  "[SYN-HANDLE-NULL] synfire::Layer: context is null, because the layer was made from a handle alone, "
                  "or by default; give the context to the constructor, or to make_sequence(), make_state(), "
                  "make_spikes() or make_time_bits()");
    const Lent lent(context_);
    return Buffer(lent.context, desc);
  }

  synfire_layer_desc desc_ = detail::empty<synfire_layer_desc>();
  synfire_context context_ = nullptr;
};

// ---- Other objects --------------------------------------------------------------------------------------------------

class Graph;

// ---- generated from synfire.h by bindings/cpp/generate.py: begin objects

/**
 * A synapse between two layers: arrays such as weights and a bias, and a product with an input. See ::synfire_synapse.
 */
class Synapse : public Owner<synfire_synapse> {
 public:
  /** No synapse. */
  Synapse() noexcept = default;

  /**
   * Creates a synapse with initial weights.
   *
   * Calls synfire_synapse_create().
   *
   * @param context The context it belongs to.
   * @param desc    What to create; synapse_desc() helps.
   * @throws error
   */
  Synapse(const Context& context, const synfire_synapse_desc& desc) {
    const synfire_synapse_desc sized = detail::sized(desc);
    check(synfire_synapse_create(context, &sized, &handle_));
  }

  /**
   * Creates a one-to-one synapse.
   *
   * Calls synfire_synapse_create_one_to_one().
   *
   * @param context The context it belongs to.
   * @param desc    What to create; one_to_one_desc() helps.
   * @throws error
   */
  Synapse(const Context& context, const synfire_one_to_one_desc& desc) {
    const synfire_one_to_one_desc sized = detail::sized(desc);
    check(synfire_synapse_create_one_to_one(context, &sized, &handle_));
  }

  /**
   * Creates a population code, a synapse whose arrays are the places and widths of its cells.
   *
   * Calls synfire_synapse_create_population().
   *
   * @param context The context it belongs to.
   * @param desc    What to create; population_desc() helps.
   * @throws error
   */
  Synapse(const Context& context, const synfire_population_desc& desc) {
    const synfire_population_desc sized = detail::sized(desc);
    check(synfire_synapse_create_population(context, &sized, &handle_));
  }

  /**
   * Creates a synapse with delays of its connections, inputs or outputs.
   *
   * Calls synfire_synapse_create_delayed().
   *
   * @param context The context it belongs to.
   * @param desc    What to create; delayed_desc() helps.
   * @throws error
   */
  Synapse(const Context& context, const synfire_delayed_desc& desc) {
    const synfire_delayed_desc sized = detail::sized(desc);
    check(synfire_synapse_create_delayed(context, &sized, &handle_));
  }

  /**
   * Creates a convolution with initial weights.
   *
   * Calls synfire_synapse_create_conv2d().
   *
   * @param context The context it belongs to.
   * @param desc    What to create; conv2d_desc() helps.
   * @throws error
   */
  Synapse(const Context& context, const synfire_conv2d_desc& desc) {
    const synfire_conv2d_desc sized = detail::sized(desc);
    check(synfire_synapse_create_conv2d(context, &sized, &handle_));
  }

  /**
   * Takes over a handle.
   *
   * @param handle A synapse that nothing else destroys, or null.
   */
  explicit Synapse(synfire_synapse handle) noexcept : Owner(handle) {}

  /**
   * Computes a product now: the same operation that synfire_graph_record_synapse_forward() records.
   *
   * Calls synfire_synapse_forward(). Reads `input` (`[T, B, K]`, dense or packed). Reads, where given, `n_active`
   * (`[1]`), `input_mask` (`[B, K]`), `input_scale` (`[1]`) and `history` (`[M, B, K]`). Writes `output` (`[T, B, N]`).
   * Writes, where given, `next_history` (`[M, B, K]`).
   *
   * @param desc   What to do; synapse_forward_desc() helps.
   * @param stream The CUDA stream; null is the context's own.
   * @throws error
   */
  void forward(const synfire_synapse_forward_desc& desc, synfire_stream stream = nullptr) {
    const synfire_synapse_forward_desc sized = detail::sized(desc);
    check(synfire_synapse_forward(handle_, &sized, stream));
  }

  /**
   * Computes the gradients of a product now: the same operation that synfire_graph_record_synapse_backward() records.
   *
   * Calls synfire_synapse_backward(). Reads `grad_output` (`[T, B, N]`). Reads, where given, `input` (`[T, B, K]`,
   * dense or packed), `n_active` (`[1]`), `input_mask` (`[B, K]`), `input_scale` (`[1]`) and `history` (`[M, B, K]`).
   * Reads and writes, where given, `grad_input` (`[T, B, K]`).
   *
   * @param desc   What to do; synapse_backward_desc() helps.
   * @param stream The CUDA stream; null is the context's own.
   * @throws error
   */
  void backward(const synfire_synapse_backward_desc& desc, synfire_stream stream = nullptr) {
    const synfire_synapse_backward_desc sized = detail::sized(desc);
    check(synfire_synapse_backward(handle_, &sized, stream));
  }

  /**
   * Describes a synapse.
   *
   * Calls synfire_synapse_get_info().
   *
   * @return `info`, as synfire_synapse_get_info() gives it.
   * @throws error
   */
  synfire_synapse_info info() const {
    auto info = detail::empty<synfire_synapse_info>();
    check(synfire_synapse_get_info(handle_, &info));
    return info;
  }

  /**
   * Describes an array of a synapse.
   *
   * Calls synfire_synapse_get_array_info().
   *
   * @param index 0, 1, 2 ...: below synfire_synapse_info::n_arrays.
   * @return `info`, as synfire_synapse_get_array_info() gives it.
   * @throws error
   */
  synfire_synapse_array_info array_info(std::uint32_t index) const {
    auto info = detail::empty<synfire_synapse_array_info>();
    check(synfire_synapse_get_array_info(handle_, index, &info));
    return info;
  }

  /**
   * Says how far the weights of a synapse, or of one of its outputs, are from the grid on which products add them,
   * after every replay that uses it and was launched before. A weight that is far smaller than the largest one of its
   * output loses bits there, or becomes 0.
   *
   * Calls synfire_synapse_get_rounding().
   *
   * @param output The number of an output, or -1 for all of them.
   * @return `rounding`, as synfire_synapse_get_rounding() gives it.
   * @throws error
   */
  synfire_synapse_rounding rounding(std::int64_t output) const {
    auto rounding = detail::empty<synfire_synapse_rounding>();
    check(synfire_synapse_get_rounding(handle_, output, &rounding));
    return rounding;
  }

  /**
   * Reads the integers that products of a synapse add, for a device that computes them itself, after every replay that
   * uses the synapse and was launched before. With B = synfire_synapse_info::weight_bits, the outputs of spikes and
   * counts x are y[n] = f32(b[n] + 2^(24 - B) * sum(w[n, k] * x[k])) * 2^s[n]: the sum and the bias as integers,
   * rounded once to f32, and multiplied in f32. An output with a weight or a bias that is not finite has none of these.
   *
   * Calls synfire_synapse_read_integers().
   *
   * @param name  `"weight"`: w in the shape of that array, from -127 to 127 with 8 bits, from -32,639 to 32,639 with
   *              16. `"exponent"`: s, one for each row of `"weight"`, of which there are N in a dense synapse and
   *              `output_channels` in a convolution. `"bias"`: b, one for each row; only of synapses of spikes and
   *              counts that have a bias.
   * @param count How many entries of `values` to return.
   * @return `values`, as synfire_synapse_read_integers() gives it.
   * @throws error
   */
  std::vector<std::int32_t> read_integers(const char* name, std::size_t count) {
    std::vector<std::int32_t> values(count);
    check(synfire_synapse_read_integers(handle_, name, values.data(), count));
    return values;
  }
};

/**
 * Takes steps against gradients: its members are arrays of synapses, and parameters of layers. See ::synfire_optimizer.
 */
class Optimizer : public Owner<synfire_optimizer> {
 public:
  /** No optimizer. */
  Optimizer() noexcept = default;

  /**
   * Creates an optimiser without members.
   *
   * Calls synfire_optimizer_create().
   *
   * @param context The context it belongs to.
   * @param desc    What to create; optimizer_desc() helps.
   * @throws error
   */
  explicit Optimizer(const Context& context, const synfire_optimizer_desc& desc = optimizer_desc()) {
    const synfire_optimizer_desc sized = detail::sized(desc);
    check(synfire_optimizer_create(context, &sized, &handle_));
  }

  /**
   * Takes over a handle.
   *
   * @param handle An optimizer that nothing else destroys, or null.
   */
  explicit Optimizer(synfire_optimizer handle) noexcept : Owner(handle) {}

  /**
   * Takes a step now: the same operation that synfire_graph_record_optimizer_step() records.
   *
   * Calls synfire_optimizer_step().
   *
   * @param desc   What to do; optimizer_step_desc() helps.
   * @param stream The CUDA stream; null is the context's own.
   * @throws error
   */
  void step(const synfire_optimizer_step_desc& desc, synfire_stream stream = nullptr) {
    const synfire_optimizer_step_desc sized = detail::sized(desc);
    check(synfire_optimizer_step(handle_, &sized, stream));
  }

  /**
   * Adds an array of a synapse. Members are numbered in the order in which they are added, from 0 on.
   *
   * Calls synfire_optimizer_add_array().
   *
   * @param synapse              A synapse of the same context.
   * @param name                 A trained array of the synapse, by its name in synfire_synapse_read(): `"weight"`.
   * @param learning_rate_factor What the learning rate is multiplied by for this member: 1 unless there is a reason.
   *                             Finite, at least 0.
   * @param weight_decay_factor  The same for the weight decay: usually 1 for weights, and 0, for none, for everything
   *                             else.
   * @throws error
   */
  void add_array(const Synapse& synapse, const char* name, double learning_rate_factor, double weight_decay_factor) {
    check(synfire_optimizer_add_array(handle_, synapse, name, learning_rate_factor, weight_decay_factor));
  }

  /**
   * Adds the weights of a synapse: synfire_optimizer_add_array() with `"weight"`.
   *
   * Calls synfire_optimizer_add_weights().
   *
   * @param synapse              A synapse of the same context.
   * @param learning_rate_factor As in synfire_optimizer_add_array().
   * @param weight_decay_factor  As in synfire_optimizer_add_array().
   * @throws error
   */
  void add_weights(const Synapse& synapse, double learning_rate_factor, double weight_decay_factor) {
    check(synfire_optimizer_add_weights(handle_, synapse, learning_rate_factor, weight_decay_factor));
  }

  /**
   * Adds the bias of a synapse: synfire_optimizer_add_array() with `"bias"`.
   *
   * Calls synfire_optimizer_add_bias().
   *
   * @param synapse              A synapse of the same context.
   * @param learning_rate_factor As in synfire_optimizer_add_array().
   * @param weight_decay_factor  As in synfire_optimizer_add_array(); 0 unless there is a reason.
   * @throws error
   */
  void add_bias(const Synapse& synapse, double learning_rate_factor, double weight_decay_factor) {
    check(synfire_optimizer_add_bias(handle_, synapse, learning_rate_factor, weight_decay_factor));
  }

  /**
   * Adds a parameter of a layer.
   *
   * Calls synfire_optimizer_add_parameter().
   *
   * @param layer                A layer of the same context.
   * @param name                 As synfire_update_parameter_desc::name.
   * @param gradient             A buffer of the same context.
   * @param learning_rate_factor As in synfire_optimizer_add_array().
   * @param weight_decay_factor  As in synfire_optimizer_add_array(); 0 unless there is a reason.
   * @param lower                The smallest value that the parameter may take, in addition to its own range; minus
   *                             infinity for none; NaN for a default. A parameter that must be positive has one,
   *                             because one step that is too large would leave it where no gradient brings it back
   *                             from: a time in steps stays from 1 to 10,000 (its reciprocal from 1/10,000 to 1), any
   *                             other from a thousandth of its default value to 1,000 times that. Others have none.
   * @param upper                The largest value; infinity for none; NaN for a default.
   * @throws error
   */
  void add_parameter(const Layer& layer, const char* name, const Buffer& gradient, double learning_rate_factor,
                     double weight_decay_factor, double lower = std::numeric_limits<double>::quiet_NaN(),
                     double upper = std::numeric_limits<double>::quiet_NaN()) {
    check(synfire_optimizer_add_parameter(handle_, layer, name, gradient, learning_rate_factor, weight_decay_factor,
                                          lower, upper));
  }

  /**
   * Changes the factors of a member, or freezes it, from the next step on.
   *
   * Calls synfire_optimizer_set_factors().
   *
   * @param member               The number of the member.
   * @param learning_rate_factor As in synfire_optimizer_add_array().
   * @param weight_decay_factor  As in synfire_optimizer_add_array().
   * @param frozen               True: the member is frozen. False: it is not, as at first.
   * @throws error
   */
  void set_factors(std::int32_t member, double learning_rate_factor, double weight_decay_factor, bool frozen) {
    check(synfire_optimizer_set_factors(handle_, member, learning_rate_factor, weight_decay_factor, frozen ? 1 : 0));
  }

  /**
   * Says how much memory an optimiser takes with the members that it has.
   *
   * Calls synfire_optimizer_query_memory().
   *
   * @return `memory`, as synfire_optimizer_query_memory() gives it.
   * @throws error
   */
  synfire_optimizer_memory query_memory() const {
    auto memory = detail::empty<synfire_optimizer_memory>();
    check(synfire_optimizer_query_memory(handle_, &memory));
    return memory;
  }
};

/**
 * One rank of a group that trains a network together: synfire_network_desc::communicator. Since ABI 0.3. See
 * ::synfire_communicator.
 */
class Communicator : public Owner<synfire_communicator> {
 public:
  /** No communicator. */
  Communicator() noexcept = default;

  /**
   * Creates a communicator: every rank of the group makes this call, and it returns when all have. The page "Many
   * machines" has programs.
   *
   * Calls synfire_communicator_create().
   *
   * @param context The context it belongs to.
   * @param desc    What to create; communicator_desc() helps.
   * @throws error
   */
  explicit Communicator(const Context& context, const synfire_communicator_desc& desc = communicator_desc()) {
    const synfire_communicator_desc sized = detail::sized(desc);
    check(synfire_communicator_create(context, &sized, &handle_));
  }

  /**
   * Takes over a handle.
   *
   * @param handle A communicator that nothing else destroys, or null.
   */
  explicit Communicator(synfire_communicator handle) noexcept : Owner(handle) {}

  /**
   * Returns which rank this is, and of how many.
   *
   * Calls synfire_communicator_get_properties().
   *
   * @return `properties`, as synfire_communicator_get_properties() gives it.
   * @throws error
   */
  synfire_communicator_properties properties() const {
    auto properties = detail::empty<synfire_communicator_properties>();
    check(synfire_communicator_get_properties(handle_, &properties));
    return properties;
  }

  /**
   * Waits until every rank has made this call: for example, until rank 0 has written a file that the others read.
   *
   * Calls synfire_communicator_barrier().
   *
   * @throws error
   */
  void barrier() { check(synfire_communicator_barrier(handle_)); }

  /**
   * Gives up a group: calls of all ranks that wait for each other, also of this one on another thread, and all later
   * ones return ::SYNFIRE_ERROR_PEER_LOST. For a program that cannot go on.
   *
   * Calls synfire_communicator_abort().
   *
   * @throws error
   */
  void abort() { check(synfire_communicator_abort(handle_)); }
};

/**
 * Stages from an input to a readout, a loss and an optimiser, and all that they need: synapses, layers, buffers and
 * graphs. It uses nothing but the functions above, so its results have the bits of what they would give by hand. See
 * ::synfire_network.
 */
class Network : public Owner<synfire_network> {
 public:
  /** No network. */
  Network() noexcept = default;

  /**
   * Creates a network without stages.
   *
   * Calls synfire_network_create().
   *
   * @param context The context it belongs to.
   * @param desc    What to create; network_desc() helps.
   * @throws error
   */
  Network(const Context& context, const synfire_network_desc& desc) : context_(context) {
    const synfire_network_desc sized = detail::sized(desc);
    check(synfire_network_create(context, &sized, &handle_));
  }

  /**
   * Takes over a handle.
   *
   * @param handle A network that nothing else destroys, or null.
   */
  explicit Network(synfire_network handle) noexcept : Owner(handle) {}

  /**
   * Takes over a handle.
   *
   * @param context Its context, which its parts then know, as if it had been created with it.
   * @param handle  A network that nothing else destroys, or null.
   */
  Network(synfire_context context, synfire_network handle) noexcept : Owner(handle), context_(context) {}

  /**
   * Adds an input.
   *
   * Calls synfire_network_add_input().
   *
   * @param name       The name of the stage.
   * @param kind       One of `SYNFIRE_NETWORK_INPUT_*`, but for counts, which need a bound
   *                   (synfire_network_add_stage()).
   * @param n_features Inputs K, at least 1.
   * @throws error
   */
  void add_input(const char* name, std::int32_t kind, std::int64_t n_features) {
    check(synfire_network_add_input(handle_, name, kind, n_features));
  }

  /**
   * Adds dropout of what the next synapse reads, as by synfire_dropout(): in the training each replay draws a new mask,
   * in evaluation and inference all inputs are kept. Its values: `"probability"`, which can change between replays,
   * `"seed"`, and `"by_channel"`: 1 if the places of a channel of a map are kept or dropped together, as
   * synfire_synapse_forward_desc::mask_channels. Default: 0. Since ABI 0.3.
   *
   * Calls synfire_network_add_dropout().
   *
   * @param name        The name of the stage.
   * @param probability From 0 to less than 1.
   * @throws error
   */
  void add_dropout(const char* name, double probability) {
    check(synfire_network_add_dropout(handle_, name, probability));
  }

  /**
   * Adds a synapse. What it reads follows from the stages before.
   *
   * Calls synfire_network_add_synapse().
   *
   * @param name      The name of the stage.
   * @param n_outputs Outputs N, at least 1.
   * @throws error
   */
  void add_synapse(const char* name, std::int64_t n_outputs) {
    check(synfire_network_add_synapse(handle_, name, n_outputs));
  }

  /**
   * Adds neurons, one for each output of the synapse. Each replay of training and evaluation begins with a reset state.
   *
   * Calls synfire_network_add_neurons().
   *
   * @param name  The name of the stage.
   * @param model One of `SYNFIRE_MODEL_*`, or an id from synfire_model_id().
   * @throws error
   */
  void add_neurons(const char* name, std::int32_t model) { check(synfire_network_add_neurons(handle_, name, model)); }

  /**
   * Adds the readout.
   *
   * Calls synfire_network_add_readout().
   *
   * @param name      The name of the stage.
   * @param reduction One of `SYNFIRE_READOUT_*`.
   * @param of_spikes False: of V. True: of spikes; the neurons must fire.
   * @throws error
   */
  void add_readout(const char* name, std::int32_t reduction, bool of_spikes = false) {
    check(synfire_network_add_readout(handle_, name, reduction, of_spikes ? 1 : 0));
  }

  /**
   * Adds the loss of what the readout gives, as by synfire_loss(): the mean over the samples of a batch.
   *
   * Calls synfire_network_add_loss().
   *
   * @param name The name of the stage.
   * @param kind One of `SYNFIRE_LOSS_*`.
   * @throws error
   */
  void add_loss(const char* name, std::int32_t kind) { check(synfire_network_add_loss(handle_, name, kind)); }

  /**
   * Adds the optimiser. Its members are the weights and biases of all synapses that are not frozen, and the parameters
   * of synfire_network_train_parameter(), pair after pair of synapse and neurons. Its values are the fields of
   * ::synfire_optimizer_desc from `"nesterov"` on, with the same defaults; here, a weight decay of 0 is none.
   * `"learning_rate"`, `"weight_decay"` and `"clip_norm"` can change between replays. So can those of the schedule,
   * which are the fields of ::synfire_optimizer_step_desc, since ABI 0.3: `"warmup_steps"`, `"schedule"`,
   * `"schedule_steps"` and `"schedule_factor"`. A schedule other than the constant one needs `"schedule_steps"`. A
   * cosine has an end: synfire_network_train() refuses batches that would go beyond it.
   *
   * Calls synfire_network_add_optimizer().
   *
   * @param name          The name of the stage.
   * @param kind          One of `SYNFIRE_OPTIMIZER_KIND_*`.
   * @param learning_rate Finite, at least 0. 0: 1e-3.
   * @throws error
   */
  void add_optimizer(const char* name, std::int32_t kind, double learning_rate = 0) {
    check(synfire_network_add_optimizer(handle_, name, kind, learning_rate));
  }

  /**
   * Sets a value of a stage; the function that adds the stage says which there are.
   *
   * Calls synfire_network_set_value().
   *
   * @param stage The name of the stage.
   * @param name  The name of the value.
   * @param value A number that the value may have. Constants such as `SYNFIRE_DTYPE_*` and flags are numbers too.
   * @throws error
   */
  void set_value(const char* stage, const char* name, double value) {
    check(synfire_network_set_value(handle_, stage, name, value));
  }

  /**
   * Reads a value of a stage.
   *
   * Calls synfire_network_get_value().
   *
   * @param stage The name of the stage.
   * @param name  The name of the value.
   * @return `value`, as synfire_network_get_value() gives it.
   * @throws error
   */
  double value(const char* stage, const char* name) const {
    double value = 0;
    check(synfire_network_get_value(handle_, stage, name, &value));
    return value;
  }

  /**
   * Lets the optimiser train a parameter of neurons, as synfire_optimizer_add_parameter() does.
   *
   * Calls synfire_network_train_parameter().
   *
   * @param stage                The name of the neurons' stage.
   * @param parameter            As synfire_update_parameter_desc::name.
   * @param per_neuron           True: one number for each neuron. False: one for all, or as synfire_network_set_scope()
   *                             says.
   * @param learning_rate_factor What the learning rate is multiplied by: 1 unless there is a reason. Finite, at least
   *                             0.
   * @param weight_decay_factor  The same for the weight decay: 0 unless there is a reason.
   * @param lower                The smallest value that the parameter may take, in addition to its own range; minus
   *                             infinity for none; NaN for the default of synfire_optimizer_add_parameter().
   * @param upper                The largest value; infinity for none; NaN for the default.
   * @throws error
   */
  void train_parameter(const char* stage, const char* parameter, bool per_neuron, double learning_rate_factor,
                       double weight_decay_factor, double lower = std::numeric_limits<double>::quiet_NaN(),
                       double upper = std::numeric_limits<double>::quiet_NaN()) {
    check(synfire_network_train_parameter(handle_, stage, parameter, per_neuron ? 1 : 0, learning_rate_factor,
                                          weight_decay_factor, lower, upper));
  }

  /**
   * Says how many numbers a parameter of neurons is: one for each neuron, one for each channel of their map, or one for
   * the layer, as it is at first. All begin with the value of the stage. The optimiser trains as many, if it trains the
   * parameter (synfire_network_train_parameter(), where a `per_neuron` of 1 says ::SYNFIRE_SCOPE_NEURON too, and one of
   * 0 says nothing; the last of several calls counts). Files have all of them. The stage's layer gives and takes them
   * one by one (synfire_network_get_layer(), synfire_layer_set_parameter()).
   *
   * Calls synfire_network_set_scope().
   *
   * @param stage     The name of the neurons' stage.
   * @param parameter The name of the parameter, or its second name; also one of the surrogate.
   * @param scope     One of `SYNFIRE_SCOPE_*`. Neurons without a map have as many channels as neurons.
   * @throws error
   */
  void set_scope(const char* stage, const char* parameter, std::int32_t scope) {
    check(synfire_network_set_scope(handle_, stage, parameter, scope));
  }

  /**
   * Sets the connections of a synapse, as synfire_synapse_desc::mask.
   *
   * Calls synfire_network_set_mask().
   *
   * @param stage The name of the synapse's stage.
   * @param mask  `[N, K]`: 1 where there is a connection. Copied.
   * @throws error
   */
  void set_mask(const char* stage, const std::vector<std::uint8_t>& mask) {
    check(synfire_network_set_mask(handle_, stage, mask.data(), mask.size()));
  }

  /**
   * Sets the weights of the classes in a loss, as synfire_loss_desc::class_weights.
   *
   * Calls synfire_network_set_class_weights().
   *
   * @param stage   The name of the loss's stage.
   * @param weights `[C]`, finite. Copied.
   * @throws error
   */
  void set_class_weights(const char* stage, const std::vector<float>& weights) {
    check(synfire_network_set_class_weights(handle_, stage, weights.data(), weights.size()));
  }

  /**
   * Asks for arrays that training, evaluation and inference shall leave behind: synfire_network_get_buffer() gives them
   * out. Each replay overwrites them with those of its own rows. A network keeps nothing that nobody asks for and no
   * stage reads, and what is kept changes no bit of any result.
   *
   * Calls synfire_network_keep().
   *
   * @param names One name, or several with spaces between them. One that was asked for before is kept once.
   * @throws error
   */
  void keep(const char* names) { check(synfire_network_keep(handle_, names)); }

  /**
   * Computes how much memory a network takes, before anything of it is allocated: all parts are made and all graphs
   * recorded, for data without lengths and sample weights, on a device that only counts.
   *
   * Calls synfire_network_query_memory().
   *
   * @return `memory`, as synfire_network_query_memory() gives it.
   * @throws error
   */
  synfire_network_memory query_memory() const {
    auto memory = detail::empty<synfire_network_memory>();
    check(synfire_network_query_memory(handle_, &memory));
    return memory;
  }

  /**
   * Makes all parts of a network: synapses, layers, buffers, the optimiser and the inference graph. The other graphs
   * are recorded with their data. Everything is made on a device that only counts first, so that what cannot work is
   * refused before anything is allocated.
   *
   * Calls synfire_network_build().
   *
   * @throws error
   */
  void build() { check(synfire_network_build(handle_)); }

  /**
   * Sets a data set of R rows. The arrays are copied; they may be in memory of any kind. Their rows follow each other
   * without gaps. The graph of the data is recorded by the first call, and again if the number of rows or the arrays
   * given differ from before. With another number of rows, the training begins with batch 0 of epoch 0.
   *
   * Calls synfire_network_set_data().
   *
   * @param set            One of `SYNFIRE_DATA_*`.
   * @param n_rows         Rows R, 1 to 2^32 - 1.
   * @param inputs         A buffer of the same context.
   * @param labels         A buffer of the same context; may be null.
   * @param targets        A buffer of the same context; may be null.
   * @param lengths        A buffer of the same context; may be null.
   * @param sample_weights A buffer of the same context; may be null.
   * @throws error
   */
  void set_data(std::int32_t set, std::int64_t n_rows, const Buffer& inputs, synfire_buffer labels = nullptr,
                synfire_buffer targets = nullptr, synfire_buffer lengths = nullptr,
                synfire_buffer sample_weights = nullptr) {
    check(synfire_network_set_data(handle_, set, n_rows, inputs, labels, targets, lengths, sample_weights));
  }

  /**
   * Sets a data set of R rows, as synfire_network_set_data(), with an array of its own for each stage that needs one:
   * for each input its inputs, and for each loss its labels or its targets. All arrays are taken, or none of them.
   *
   * Calls synfire_network_set_arrays().
   *
   * @param set    One of `SYNFIRE_DATA_*`.
   * @param n_rows Rows R, 1 to 2^32 - 1.
   * @param arrays The arrays, in any order. Stages may share a buffer.
   * @throws error
   */
  void set_arrays(std::int32_t set, std::int64_t n_rows, const std::vector<synfire_network_array>& arrays) {
    check(synfire_network_set_arrays(handle_, set, n_rows, arrays.data(), arrays.size()));
  }

  /**
   * Trains: launches the training graph once for each batch, and waits at the end. Each epoch has an order of its own,
   * as synfire_shuffle_desc says; its last batch may be smaller. Afterwards the state of the neurons is reset.
   *
   * Calls synfire_network_train().
   *
   * @param n_batches How many batches, also beyond the end of an epoch. 0: those that are left of the epoch.
   * @return `result`, as synfire_network_train() gives it.
   * @throws error
   */
  synfire_network_result train(std::int64_t n_batches = 0) {
    auto result = detail::empty<synfire_network_result>();
    check(synfire_network_train(handle_, n_batches, &result));
    return result;
  }

  /**
   * Evaluates: computes the loss of all rows of the evaluation data, in order, without dropout. Rates are encoded from
   * the same random numbers in every call. Afterwards the state of the neurons is reset.
   *
   * Calls synfire_network_evaluate().
   *
   * @return `result`, as synfire_network_evaluate() gives it.
   * @throws error
   */
  synfire_network_result evaluate() {
    auto result = detail::empty<synfire_network_result>();
    check(synfire_network_evaluate(handle_, &result));
    return result;
  }

  /**
   * Computes the output for rows of inputs, B at a time, with the inference graph. The state of the neurons is reset
   * before each batch and afterwards, so that rows do not depend on each other; rates are encoded from the same random
   * numbers in every call. A loop that continues from frame to frame launches the graph itself
   * (synfire_network_get_graph()).
   *
   * Calls synfire_network_infer().
   *
   * @param inputs  A buffer of the same context.
   * @param n_rows  Rows R, at least 1.
   * @param outputs A buffer of the same context.
   * @throws error
   */
  void infer(const Buffer& inputs, std::int64_t n_rows, const Buffer& outputs) {
    check(synfire_network_infer(handle_, inputs, n_rows, outputs));
  }

  /**
   * Computes outputs for rows of inputs, as synfire_network_infer(), with an array for each input and for any of the
   * outputs.
   *
   * Calls synfire_network_infer_arrays().
   *
   * @param n_rows Rows R, at least 1.
   * @param arrays The inputs of each input, and the outputs of one stage at least. Outputs overlap no other array.
   * @throws error
   */
  void infer_arrays(std::int64_t n_rows, const std::vector<synfire_network_array>& arrays) {
    check(synfire_network_infer_arrays(handle_, n_rows, arrays.data(), arrays.size()));
  }

  /**
   * Resets the state of all neurons, as synfire_layer_reset_state().
   *
   * Calls synfire_network_reset_state().
   *
   * @throws error
   */
  void reset_state() { check(synfire_network_reset_state(handle_)); }

  /**
   * Resets the state of all neurons in some batch rows, as synfire_layer_reset_rows(): these rows begin anew, and the
   * others go on. A loop with several agents calls it for one that starts over.
   *
   * Calls synfire_network_reset_rows().
   *
   * @param first_row The first row, 0 to B - 1.
   * @param n_rows    How many, at least 1.
   * @throws error
   */
  void reset_rows(std::int64_t first_row, std::int64_t n_rows) {
    check(synfire_network_reset_rows(handle_, first_row, n_rows));
  }

  /**
   * Returns the synapse of a stage: a handle of its own, which keeps the synapse alive, also beyond the network, until
   * it is destroyed.
   *
   * Calls synfire_network_get_synapse().
   *
   * @param stage The name of a stage of kind synapse or scale. One that uses the weights of another stage has its
   *              synapse.
   * @return `synapse`, as synfire_network_get_synapse() gives it.
   * @throws error
   */
  Synapse synapse(const char* stage) const {
    synfire_synapse synapse = nullptr;
    check(synfire_network_get_synapse(handle_, stage, &synapse));
    return Synapse(synapse);
  }

  /**
   * Returns the layer of a stage, as synfire_network_get_synapse() returns a synapse. The layer of neurons in a cycle
   * has one step, and its state is without the last spikes of the neurons, which the network keeps.
   *
   * Calls synfire_network_get_layer().
   *
   * @param stage The name of a stage of neurons.
   * @return `layer`, as synfire_network_get_layer() gives it.
   * @throws error
   */
  Layer layer(const char* stage) const {
    synfire_layer layer = nullptr;
    check(synfire_network_get_layer(handle_, stage, &layer));
    return Layer(context_, layer);
  }

  /**
   * Returns the optimiser, as synfire_network_get_synapse() returns a synapse.
   *
   * Calls synfire_network_get_optimizer().
   *
   * @param stage The name of the optimiser's stage.
   * @return `optimizer`, as synfire_network_get_optimizer() gives it.
   * @throws error
   */
  Optimizer optimizer(const char* stage) const {
    synfire_optimizer optimizer = nullptr;
    check(synfire_network_get_optimizer(handle_, stage, &optimizer));
    return Optimizer(optimizer);
  }

  /**
   * Returns a graph, as synfire_network_get_synapse() returns a synapse. Data of another shape
   * (synfire_network_set_data()) gives the network another graph; this one then continues with the old data.
   *
   * Calls synfire_network_get_graph().
   *
   * @param kind One of `SYNFIRE_NETWORK_GRAPH_*`.
   * @return `graph`, as synfire_network_get_graph() gives it.
   * @throws error
   */
  Graph graph(std::int32_t kind) const;

  /**
   * Returns a buffer, as synfire_network_get_synapse() returns a synapse.
   *
   * Calls synfire_network_get_buffer().
   *
   * @param name `"input"` or `"output"` of the inference graph, both page-locked and of B rows, time-major: inputs
   *             `[T, B, K]` or rates `[B, K]`, outputs `[B, C]` or `[T, B, C]`. Each also has the name of its stage and
   *             `".input"` or `".output"`, and only this name if there are several. With a loss of the program's own,
   *             page-locked too and 0 at first: for an output without a loss, the name of its stage and `".gradient"`,
   *             of the same shape; for a loss, `".labels"` or `".targets"`. Or what training and evaluation leave in
   *             device memory: the name of a stage of neurons and `".spikes"`, `".v"`, `".grad_spikes"` or `".grad_v"`,
   *             as far as the network needs it, and all that synfire_network_keep() was asked for. With the input's
   *             value `"replace_nonfinite"`, `"n_replaced"`, page-locked: one u64, how many numbers each replay of the
   *             inference graph replaced (in the slot of the replay), and after synfire_network_infer() how many that
   *             call did.
   * @return `buffer`, as synfire_network_get_buffer() gives it.
   * @throws error
   */
  Buffer buffer(const char* name) const {
    synfire_buffer buffer = nullptr;
    check(synfire_network_get_buffer(handle_, name, &buffer));
    return Buffer(buffer);
  }

  /**
   * Reads the monitor of a stage, which adds up inside the replays (synfire_network_keep()). Counts are integers and
   * sums are in f64 in a fixed order, so that the numbers are the same on every machine. A call that trains, evaluates
   * or infers begins anew; replays that the program launches itself are added. A call that fails may have changed what
   * was added up.
   *
   * Calls synfire_network_get_monitor().
   *
   * @param stage   The name of a stage that is monitored.
   * @param restart True: the monitor of this stage begins anew afterwards. False: it goes on.
   * @return `monitor`, as synfire_network_get_monitor() gives it.
   * @throws error
   */
  synfire_network_monitor monitor(const char* stage, bool restart = false) const {
    auto monitor = detail::empty<synfire_network_monitor>();
    check(synfire_network_get_monitor(handle_, stage, restart ? 1 : 0, &monitor));
    return monitor;
  }

  /**
   * Reports the memory that a network holds, with the layers, synapses, buffers, graphs and the optimiser that it made.
   * synfire_network_query_memory() says before what it will need.
   *
   * Calls synfire_network_get_memory_use().
   *
   * @return `use`, as synfire_network_get_memory_use() gives it.
   * @throws error
   */
  synfire_memory_use memory_use() const {
    auto use = detail::empty<synfire_memory_use>();
    check(synfire_network_get_memory_use(handle_, &use));
    return use;
  }

  /**
   * Saves a network as a safetensors file, which replaces the one at the path as a whole or not at all. It has all that
   * the network needs to continue with the same bits, also in another process and on another backend: the stages with
   * their values, weights, masks, parameters and states of neurons, what the optimiser remembers, the offsets of random
   * numbers and the batch with which the training goes on. The page "Files" has its layout. Data sets are not in it,
   * nor are gradients, which every step computes anew, nor values that were changed on a graph by its own handle. The
   * same network gives the same bytes on every backend.
   *
   * Calls synfire_network_save().
   *
   * @param path The path of the file, in UTF-8.
   * @throws error
   */
  void save(const char* path) { check(synfire_network_save(handle_, path)); }

  /**
   * Saves a network in files of limited size, as other tools do with large models. If its tensors have at most
   * `shard_bytes` bytes, this is synfire_network_save(). Otherwise the tensors are divided among N files beside the
   * path `"NAME.safetensors"`, `"NAME-00001-of-0000N.safetensors"` and so on, each a safetensors file of at most that
   * many bytes of tensors, or with one larger tensor; and `"NAME.safetensors.index.json"` says which file has which
   * tensor. Functions that load take the path of the index in place of that of a file.
   *
   * Calls synfire_network_save_shards().
   *
   * @param path        The path, in UTF-8, which ends in `".safetensors"`.
   * @param shard_bytes Bytes of tensors in a file, at most. 0: 5,000,000,000.
   * @return `n_shards`, as synfire_network_save_shards() gives it.
   * @throws error
   */
  std::uint64_t save_shards(const char* path, std::uint64_t shard_bytes) {
    std::uint64_t n_shards = 0;
    check(synfire_network_save_shards(handle_, path, shard_bytes, &n_shards));
    return n_shards;
  }

  /**
   * Loads a file that synfire_network_save() has written, into a network with the same stages: the same names, kinds,
   * widths, masks, class weights and values, but for those that can change between replays, which become those of the
   * file, and those that say only where memory lies or how weights began. A value that the file lacks has its default.
   * The seeds of stages and that of the order of the training rows become those of the file, unless the program has set
   * one for the stage. Bounds of trained parameters are compared where both sides say them. The network may lack the
   * file's loss and optimiser; then nothing that concerns training needs to agree. Everything is checked before
   * anything changes, and after a failure the network is as it was, unless the device is lost; without memory, once a
   * call finds some for it.
   *
   * Calls synfire_network_load().
   *
   * @param path The path of the file, or of the index of its shards (synfire_network_save_shards()), in UTF-8.
   * @throws error
   */
  void load(const char* path) { check(synfire_network_load(handle_, path)); }

 private:
  synfire_context context_ = nullptr;
};

// ---- generated from synfire.h by bindings/cpp/generate.py: end objects

// ---- Arrays of synapses and optimisers ------------------------------------------------------------------------------

/**
 * Reads an array of a synapse, after every replay that was launched before. Calls synfire_synapse_read().
 *
 * @param synapse     A synapse.
 * @param name        `"weight"`, `"bias"`, `"weight_gradient"` or `"bias_gradient"`.
 * @param[out] values As many elements as the array has, of its type.
 * @throws error
 */
template <class T>
void read(const Synapse& synapse, const char* name, std::vector<T>& values) {
  check(synfire_synapse_read(synapse, name, values.data(), values.size() * sizeof(T)));
}

/**
 * Writes what read() reads. Calls synfire_synapse_write().
 *
 * @param synapse A synapse.
 * @param name    As in read().
 * @param values  As many finite elements as the array has, of its type.
 * @throws error
 */
template <class T>
void write(const Synapse& synapse, const char* name, const std::vector<T>& values) {
  check(synfire_synapse_write(synapse, name, values.data(), values.size() * sizeof(T)));
}

/**
 * Reads an array of a member of an optimiser, or a number of the optimiser itself. Calls synfire_optimizer_read().
 *
 * @param optimizer   An optimiser.
 * @param member      The number of the member; -1 for the optimiser itself.
 * @param name        As in synfire_optimizer_read().
 * @param[out] values As many elements as there are, of their type.
 * @throws error
 */
template <class T>
void read(const Optimizer& optimizer, std::int32_t member, const char* name, std::vector<T>& values) {
  check(synfire_optimizer_read(optimizer, member, name, values.data(), values.size() * sizeof(T)));
}

/**
 * Writes what read() reads. Calls synfire_optimizer_write().
 *
 * @param optimizer An optimiser.
 * @param member    The number of the member; -1 for the optimiser itself.
 * @param name      As in synfire_optimizer_read().
 * @param values    As many elements as there are, of their type.
 * @throws error
 */
template <class T>
void write(const Optimizer& optimizer, std::int32_t member, const char* name, const std::vector<T>& values) {
  check(synfire_optimizer_write(optimizer, member, name, values.data(), values.size() * sizeof(T)));
}

// ---- Networks -------------------------------------------------------------------------------------------------------

/**
 * A table of a network's stages, and the bytes that its parts take. Calls synfire_network_write_summary().
 *
 * @param network A network.
 * @return The whole text.
 * @throws error
 */
inline std::string summary(const Network& network) {
  return detail::written(
      [&](char* text, std::uint64_t* bytes) { return synfire_network_write_summary(network, text, bytes); });
}

/**
 * The stages of a network as text in the DOT language. Calls synfire_network_write_dot().
 *
 * @param network A network.
 * @return The whole text.
 * @throws error
 */
inline std::string dot(const Network& network) {
  return detail::written(
      [&](char* text, std::uint64_t* bytes) { return synfire_network_write_dot(network, text, bytes); });
}

/**
 * A stage for add_stage(): its kind, its name, what it reads and its values, as in ::synfire_stage_desc.
 *
 *     synfire::add_stage(network, synfire::Stage("synapse", "first").reads("rates").set("n_outputs", 53));
 */
class Stage {
 public:
  /**
   * Begins a stage that reads the one before.
   *
   * @param kind As synfire_stage_desc::kind.
   * @param name The name of the stage.
   */
  Stage(std::string kind, std::string name) : kind_(std::move(kind)), name_(std::move(name)) {}

  /**
   * Lets it read a stage.
   *
   * @param stage As synfire_stage_input::stage.
   * @param port  As synfire_stage_input::port. Empty: null.
   * @param delay As synfire_stage_input::delay.
   * @return The stage itself.
   */
  Stage& reads(std::string stage, std::string port = {}, std::int64_t delay = 0) {
    inputs_.push_back({std::move(stage), std::move(port), delay});
    return *this;
  }

  /**
   * Sets a value.
   *
   * @param name   The name of the value.
   * @param number As synfire_stage_value::number; a constant or a flag too.
   * @return The stage itself.
   */
  template <class Number, std::enable_if_t<std::is_arithmetic_v<Number> || std::is_enum_v<Number>, int> = 0>
  Stage& set(std::string name, Number number) {
    values_.push_back({std::move(name), {}, static_cast<double>(number), false});
    return *this;
  }

  /**
   * Sets a value to a constant.
   *
   * @param name The name of the value.
   * @param text As synfire_stage_value::text.
   * @return The stage itself.
   */
  Stage& set(std::string name, std::string text) {
    values_.push_back({std::move(name), std::move(text), 0, true});
    return *this;
  }

  /** @copydoc set(std::string, std::string) */
  Stage& set(std::string name, const char* text) { return set(std::move(name), std::string(text)); }

 private:
  friend void add_stage(Network& network, const Stage& stage);
  /** @cond DETAIL */
  struct Input {
    std::string stage, port;
    std::int64_t delay;
  };
  struct Value {
    std::string name, text;
    double number;
    bool is_text;
  };
  /** @endcond */

  std::string kind_, name_;
  std::vector<Input> inputs_;
  std::vector<Value> values_;
};

/**
 * Adds a stage of any kind. Calls synfire_network_add_stage().
 *
 * @param network A network that is not built.
 * @param stage   The stage.
 * @throws error
 */
inline void add_stage(Network& network, const Stage& stage) {
  std::vector<synfire_stage_input> inputs;
  for (const Stage::Input& input : stage.inputs_)
    inputs.push_back({input.stage.c_str(), input.port.empty() ? nullptr : input.port.c_str(), input.delay});
  std::vector<synfire_stage_value> values;
  for (const Stage::Value& value : stage.values_)
    values.push_back({value.name.c_str(), value.is_text ? value.text.c_str() : nullptr, value.number});
  auto desc = detail::empty<synfire_stage_desc>();
  desc.kind = stage.kind_.c_str();
  desc.name = stage.name_.c_str();
  desc.inputs = inputs.empty() ? nullptr : inputs.data();
  desc.n_inputs = inputs.size();
  desc.values = values.empty() ? nullptr : values.data();
  desc.n_values = values.size();
  check(synfire_network_add_stage(network, &desc));
}

/**
 * An array for Network::set_arrays() and Network::infer_arrays().
 *
 * @param stage  The name of a stage, or null, as synfire_network_array::stage; it is not copied.
 * @param role   One of `SYNFIRE_ARRAY_*`.
 * @param buffer A buffer of the network's context.
 * @return The entry of the list.
 */
constexpr synfire_network_array network_array(const char* stage, std::int32_t role, synfire_buffer buffer) noexcept {
  return {stage, role, 0, buffer};
}

/** @cond DETAIL */
namespace detail {

template <class Call>
std::pair<synfire_network_result, std::vector<synfire_stage_result>> results_of(const std::vector<const char*>& losses,
                                                                                Call call) {
  std::vector<synfire_stage_result> results;
  results.reserve(losses.size());
  for (const char* const loss : losses) results.push_back({loss, 0, 0, 0});
  auto result = empty<synfire_network_result>();
  check(call(results.data(), results.size(), &result));
  return {result, std::move(results)};
}

}  // namespace detail
/** @endcond */

/**
 * Trains, and returns the results of single losses. Calls synfire_network_train_stages().
 *
 * @param network   A built network with training data.
 * @param n_batches As in Network::train(); 0: those that are left of the epoch.
 * @param losses    The names of losses; the results point to them.
 * @return The sums over all losses of the network, and the result of each loss, in the same order.
 * @throws error
 */
inline std::pair<synfire_network_result, std::vector<synfire_stage_result>> train(
    Network& network, std::int64_t n_batches, const std::vector<const char*>& losses) {
  return detail::results_of(losses,
                            [&](synfire_stage_result* results, std::uint64_t count, synfire_network_result* result) {
                              return synfire_network_train_stages(network, n_batches, results, count, result);
                            });
}

/**
 * Evaluates, and returns the results of single losses. Calls synfire_network_evaluate_stages().
 *
 * @param network A built network with evaluation data.
 * @param losses  The names of losses; the results point to them.
 * @return The sums over all losses of the network, and the result of each loss, in the same order.
 * @throws error
 */
inline std::pair<synfire_network_result, std::vector<synfire_stage_result>> evaluate(
    Network& network, const std::vector<const char*>& losses) {
  return detail::results_of(losses,
                            [&](synfire_stage_result* results, std::uint64_t count, synfire_network_result* result) {
                              return synfire_network_evaluate_stages(network, results, count, result);
                            });
}

/**
 * The part of the samples that were predicted right.
 *
 * @param result What Network::train() or Network::evaluate() returned, with labels.
 * @return From 0 to 1; 0 if no sample counted.
 */
constexpr double accuracy(const synfire_network_result& result) noexcept {
  return result.n_counted == 0 ? 0.0 : static_cast<double>(result.n_correct) / static_cast<double>(result.n_counted);
}

/** @cond DETAIL */
namespace detail {

// Throws unless there are as many rows of inputs as labels. What is of another type than the network's inputs is left to
// the library, which names the type.
inline void check_rows(const Network& network, std::size_t n_inputs, std::size_t n_labels, std::int32_t dtype) {
  const Buffer input = network.buffer("input");  // [T, B, K], rates [1, B, K]
  if (input.dtype() != dtype) return;
  const std::uint64_t row = input.shape()[0] * input.shape()[2];
  if (n_inputs == n_labels * row) return;
  throw error(SYNFIRE_ERROR_INVALID_ARGUMENT,
              "[SYN-NETWORK-DATA] synfire::set_data: inputs has " + std::to_string(n_inputs) + " elements and labels " +
                  std::to_string(n_labels) + "; as many rows of " + std::to_string(row) + " elements are " +
                  std::to_string(n_labels * row));
}

}  // namespace detail
/** @endcond */

/**
 * Sets a data set with labels from memory of the program, as many rows as there are labels. Calls
 * synfire_network_set_data(), which copies both.
 *
 * @param context The context of the network.
 * @param network A built network, whose loss has one label per row.
 * @param set     One of `SYNFIRE_DATA_*`.
 * @param inputs  All rows, one after the other: exactly as many as there are labels.
 * @param labels  The label of each row, 0 to C - 1.
 * @param dtype   The input's `"dtype"`: one of `SYNFIRE_DTYPE_*` whose elements are of type T.
 * @throws error, with the rule SYN-NETWORK-DATA if the numbers of rows and labels differ.
 */
template <class T>
void set_data(const Context& context, Network& network, std::int32_t set, const std::vector<T>& inputs,
              const std::vector<std::uint32_t>& labels, std::int32_t dtype = dtype_of<T>) {
  detail::check_rows(network, inputs.size(), labels.size(), dtype);
  // Both are only read.
  auto desc = borrowed_desc(const_cast<T*>(inputs.data()), inputs.size(), SYNFIRE_MEMORY_HOST);
  desc.dtype = dtype;
  const Buffer rows(context, desc);
  auto counts = borrowed_desc(const_cast<std::uint32_t*>(labels.data()), labels.size(), SYNFIRE_MEMORY_HOST);
  counts.dtype = SYNFIRE_DTYPE_U32;
  const Buffer row_labels(context, counts);
  network.set_data(set, static_cast<std::int64_t>(labels.size()), rows, row_labels);
}

/**
 * Evaluates rows with labels in memory of the program, which become the evaluation data of the network. As set_data() and
 * Network::evaluate().
 *
 * @param context The context of the network.
 * @param network A built network, whose loss has one label per row.
 * @param inputs  All rows, one after the other: exactly as many as there are labels.
 * @param labels  The label of each row, 0 to C - 1.
 * @param dtype   The input's `"dtype"`: one of `SYNFIRE_DTYPE_*` whose elements are of type T.
 * @return The result, as Network::evaluate() returns it.
 * @throws error, with the rule SYN-NETWORK-DATA if the numbers of rows and labels differ.
 */
template <class T>
synfire_network_result evaluate(const Context& context, Network& network, const std::vector<T>& inputs,
                                const std::vector<std::uint32_t>& labels, std::int32_t dtype = dtype_of<T>) {
  set_data(context, network, SYNFIRE_DATA_EVALUATION, inputs, labels, dtype);
  return network.evaluate();
}

/**
 * Computes the output for rows in memory of the program. Calls synfire_network_infer().
 *
 * @tparam R      The type of the output: float, double of an f64 network, std::uint32_t of packed spikes.
 * @param context The context of the network.
 * @param network A built network with one input and one output.
 * @param inputs  All rows, one after the other: whole rows, at least one.
 * @param dtype   The input's `"dtype"`: one of `SYNFIRE_DTYPE_*` whose elements are of type T.
 * @return The outputs of all rows, one after the other.
 * @throws error, with the rule SYN-NETWORK-DATA if they are not whole rows.
 */
template <class R = float, class T>
std::vector<R> infer(const Context& context, Network& network, const std::vector<T>& inputs,
                     std::int32_t dtype = dtype_of<T>) {
  const Buffer of_input = network.buffer("input"), of_output = network.buffer("output");
  const std::uint64_t row = of_input.shape()[0] * of_input.shape()[2], n_rows = inputs.size() / row;
  if (of_input.dtype() == dtype && (n_rows == 0 || inputs.size() % row != 0))
    throw error(SYNFIRE_ERROR_INVALID_ARGUMENT, "[SYN-NETWORK-DATA] synfire::infer: inputs has " +
                                                    std::to_string(inputs.size()) + " elements; whole rows of " +
                                                    std::to_string(row) + " elements are needed");
  std::vector<R> outputs(static_cast<std::size_t>(n_rows * of_output.shape()[0] * of_output.shape()[2]));
  auto source = borrowed_desc(const_cast<T*>(inputs.data()), inputs.size(), SYNFIRE_MEMORY_HOST);  // only read
  source.dtype = dtype;
  const Buffer rows(context, source);
  const Buffer results(context, borrowed_desc(outputs.data(), outputs.size(), SYNFIRE_MEMORY_HOST));
  network.infer(rows, static_cast<std::int64_t>(n_rows), results);
  return outputs;
}

/** Rows of an array for a stage, in memory of the program: set_arrays(). */
struct StageRows {
  /**
   * The inputs of an input, as f32.
   *
   * @param of   The name of the stage; it is not copied.
   * @param all_inputs All rows, one after the other.
   */
  StageRows(const char* of, const std::vector<float>& all_inputs) noexcept
      : StageRows(of, SYNFIRE_ARRAY_INPUTS, all_inputs, SYNFIRE_DTYPE_F32) {}

  /**
   * The labels of a loss.
   *
   * @param of   The name of the stage; it is not copied.
   * @param all_labels The label of each row.
   */
  StageRows(const char* of, const std::vector<std::uint32_t>& all_labels) noexcept
      : StageRows(of, SYNFIRE_ARRAY_LABELS, all_labels, SYNFIRE_DTYPE_U32) {}

  /**
   * Any array.
   *
   * @param of        The name of the stage, or null, as synfire_network_array::stage; it is not copied.
   * @param as        One of `SYNFIRE_ARRAY_*`.
   * @param elements  All rows, one after the other; they are not copied.
   * @param dtype_of_rows One of `SYNFIRE_DTYPE_*` whose elements are of type T.
   */
  template <class T>
  StageRows(const char* of, std::int32_t as, const std::vector<T>& elements, std::int32_t dtype_of_rows) noexcept
      : stage(of), role(as), dtype(dtype_of_rows), data(elements.data()), n_elements(elements.size()) {}

  const char* stage;         ///< The name of the stage, or null.
  std::int32_t role;         ///< One of `SYNFIRE_ARRAY_*`.
  std::int32_t dtype;        ///< One of `SYNFIRE_DTYPE_*`.
  const void* data;          ///< The rows.
  std::uint64_t n_elements;  ///< How many elements there are.
};

/**
 * Sets a data set from memory of the program, with an array of its own for each stage that needs one. Calls
 * synfire_network_set_arrays(), which copies all of them or none.
 *
 * @param context The context of the network.
 * @param network A built network.
 * @param set     One of `SYNFIRE_DATA_*`.
 * @param n_rows  Rows R.
 * @param arrays  The arrays.
 * @throws error
 */
inline void set_arrays(const Context& context, Network& network, std::int32_t set, std::int64_t n_rows,
                       std::initializer_list<StageRows> arrays) {
  std::vector<Buffer> buffers;
  std::vector<synfire_network_array> list;
  for (const StageRows& one : arrays) {
    // They are only read.
    auto desc = detail::empty<synfire_buffer_desc>();
    desc.memory = SYNFIRE_MEMORY_HOST;
    desc.dtype = one.dtype;
    desc.n_elements = one.n_elements;
    desc.data = const_cast<void*>(one.data);
    buffers.emplace_back(context, desc);
    list.push_back(network_array(one.stage, one.role, buffers.back()));
  }
  network.set_arrays(set, n_rows, list);
}

/**
 * Rows of an array in a file, for open_data().
 *
 * @param role   One of `SYNFIRE_ARRAY_*`, but not ::SYNFIRE_ARRAY_OUTPUTS.
 * @param path   The path; it is not copied.
 * @param tensor The name of the tensor, or null of a `".npy"` file; not copied either.
 * @param stage  The name of a stage, or null, as synfire_data_file::stage; not copied either.
 * @return The entry of the list.
 */
constexpr synfire_data_file data_file(std::int32_t role, const char* path, const char* tensor = nullptr,
                                      const char* stage = nullptr) noexcept {
  return {path, tensor, stage, role, 0};
}

/**
 * Sets a data set of rows that stay in files. Calls synfire_network_open_data().
 *
 * @param network A built network.
 * @param set     One of `SYNFIRE_DATA_*`.
 * @param files   The arrays: data_file().
 * @param desc    How to read them: `n_readers`, `block_rows`, `window_blocks`.
 * @throws error
 */
inline void open_data(Network& network, std::int32_t set, const std::vector<synfire_data_file>& files,
                      const synfire_network_data_desc& desc = SYNFIRE_NETWORK_DATA_DESC_INIT) {
  check(synfire_network_open_data(network, set, files.data(), files.size(), &desc));
}

/**
 * An array of a file for load_arrays().
 *
 * @param theirs The name of the tensor in the file; it is not copied.
 * @param ours   The name of the array of the network, or null for the same; not copied either.
 * @param layout A word of synfire_network_load_arrays(), or null; not copied either.
 * @return The entry of the list.
 */
constexpr synfire_array_source array_source(const char* theirs, const char* ours = nullptr,
                                            const char* layout = nullptr) noexcept {
  return {theirs, ours, layout, 0, 0};
}

/**
 * Loads arrays of any safetensors file by their names. Calls synfire_network_load_arrays().
 *
 * @param network   A built network.
 * @param path      The path of the file, in UTF-8.
 * @param sources   Which arrays: array_source().
 * @param leave_out True: a tensor that the file does not have, or has in another shape, is left out. False: it is
 *                  refused.
 * @return The sources, each with `is_loaded`.
 * @throws error
 */
inline std::vector<synfire_array_source> load_arrays(Network& network, const char* path,
                                                     std::vector<synfire_array_source> sources,
                                                     bool leave_out = false) {
  check(synfire_network_load_arrays(network, path, sources.data(), sources.size(), leave_out ? 1 : 0));
  return sources;
}

/**
 * Loads arrays of a safetensors file that is in memory, such as what save_to_memory() has returned for another network.
 * Calls synfire_network_load_arrays_from_memory().
 *
 * @param network   A built network.
 * @param file      The whole file.
 * @param sources   Which arrays: array_source().
 * @param leave_out As in the other load_arrays().
 * @return The sources, each with `is_loaded`.
 * @throws error
 */
inline std::vector<synfire_array_source> load_arrays(Network& network, const std::vector<unsigned char>& file,
                                                     std::vector<synfire_array_source> sources,
                                                     bool leave_out = false) {
  check(synfire_network_load_arrays_from_memory(network, file.data(), file.size(), sources.data(), sources.size(),
                                                leave_out ? 1 : 0));
  return sources;
}

/**
 * The bytes of the file of a network. Calls synfire_network_save_to_memory().
 *
 * @param network A built network.
 * @return The whole file.
 * @throws error
 */
inline std::vector<unsigned char> save_to_memory(const Network& network) {
  std::uint64_t bytes = 0;
  check(synfire_network_save_to_memory(network, nullptr, &bytes));
  std::vector<unsigned char> file(static_cast<std::size_t>(bytes));
  check(synfire_network_save_to_memory(network, file.data(), &bytes));
  return file;
}

/**
 * Loads what save_to_memory() has returned into a network with the same stages. Calls
 * synfire_network_load_from_memory().
 *
 * @param network A built network.
 * @param file    The whole file.
 * @throws error
 */
inline void load_from_memory(Network& network, const std::vector<unsigned char>& file) {
  check(synfire_network_load_from_memory(network, file.data(), file.size()));
}

/**
 * Creates the network of a file. Calls synfire_network_create_from_file().
 *
 * @param context The context it belongs to.
 * @param path    The path of the file, in UTF-8.
 * @param desc    What is not as in the file.
 * @return The network, built, with all that the file has.
 * @throws error
 */
inline Network network_from_file(const Context& context, const char* path,
                                 const synfire_network_file_desc& desc = detail::empty<synfire_network_file_desc>()) {
  const synfire_network_file_desc sized = detail::sized(desc);
  synfire_network network = nullptr;
  check(synfire_network_create_from_file(context, path, &sized, &network));
  return Network(context, network);
}

/**
 * Creates the network of a file that is in memory. Calls synfire_network_create_from_memory().
 *
 * @param context The context it belongs to.
 * @param file    What save_to_memory() has returned.
 * @param desc    What is not as in the file.
 * @return The network, built, with all that the file has.
 * @throws error
 */
inline Network network_from_memory(const Context& context, const std::vector<unsigned char>& file,
                                   const synfire_network_file_desc& desc = detail::empty<synfire_network_file_desc>()) {
  const synfire_network_file_desc sized = detail::sized(desc);
  synfire_network network = nullptr;
  check(synfire_network_create_from_memory(context, file.data(), file.size(), &sized, &network));
  return Network(context, network);
}

// ---- Immediate calls ------------------------------------------------------------------------------------------------

// ---- generated from synfire.h by bindings/cpp/generate.py: begin context

/**
 * Converts spikes from one format to another now: the same operation that synfire_graph_record_convert_spikes()
 * records.
 *
 * Calls synfire_convert_spikes(). Reads `source` (`[T, B, N]`, dense or packed). Writes `destination` (`[T, B, N]`,
 * dense or packed).
 *
 * @param context The context of the buffers.
 * @param desc    What to do; convert_spikes_desc() helps.
 * @param stream  The CUDA stream; null is the context's own.
 * @throws error
 */
inline void convert_spikes(const Context& context, const synfire_convert_spikes_desc& desc,
                           synfire_stream stream = nullptr) {
  const synfire_convert_spikes_desc sized = detail::sized(desc);
  check(synfire_convert_spikes(context, &sized, stream));
}

/**
 * Counts spikes now: the same operation that synfire_graph_record_count_spikes() records.
 *
 * Calls synfire_count_spikes(). Reads `spikes` (`[T, B, N]`, dense or packed). Writes `counts` (`[B, N]`, `[T]` or
 * `[1]`).
 *
 * @param context The context of the buffers.
 * @param desc    What to do; count_spikes_desc() helps.
 * @param stream  The CUDA stream; null is the context's own.
 * @throws error
 */
inline void count_spikes(const Context& context, const synfire_count_spikes_desc& desc,
                         synfire_stream stream = nullptr) {
  const synfire_count_spikes_desc sized = detail::sized(desc);
  check(synfire_count_spikes(context, &sized, stream));
}

/**
 * Encodes rates as spikes now: the same operation that synfire_graph_record_encode_bernoulli() records. Calls do not
 * advance the offset: to continue the sequence, increase `offset` by `n_steps` for the next call.
 *
 * Calls synfire_encode_bernoulli(). Reads `rates` (`[B, N]` or `[T, B, N]`). Writes `spikes` (`[T, B, N]`, dense or
 * packed).
 *
 * @param context The context of the buffers.
 * @param desc    What to do; encode_bernoulli_desc() helps.
 * @param stream  The CUDA stream; null is the context's own.
 * @throws error
 */
inline void encode_bernoulli(const Context& context, const synfire_encode_bernoulli_desc& desc,
                             synfire_stream stream = nullptr) {
  const synfire_encode_bernoulli_desc sized = detail::sized(desc);
  check(synfire_encode_bernoulli(context, &sized, stream));
}

/**
 * Bins events of a camera now: the same operation that synfire_graph_record_bin_events() records. Calls do not advance
 * the offset: to continue the sequence, increase `offset` by 1 for the next call.
 *
 * Calls synfire_bin_events(). Reads `events` (`[B, capacity]`) and `event_counts` (`[B]`). Reads, where given, `window`
 * (`[B, 2]`). Writes `destination` (`[T, B, N]`) and `faults` (`[B, 5]`).
 *
 * @param context The context of the buffers.
 * @param desc    What to do; bin_events_desc() helps.
 * @param stream  The CUDA stream; null is the context's own.
 * @throws error
 */
inline void bin_events(const Context& context, const synfire_bin_events_desc& desc, synfire_stream stream = nullptr) {
  const synfire_bin_events_desc sized = detail::sized(desc);
  check(synfire_bin_events(context, &sized, stream));
}

/**
 * Gathers rows of a data set into a batch now: the same operation that synfire_graph_record_gather_rows() records.
 *
 * Calls synfire_gather_rows(). Reads `source` (`[R, T, N]`) and `indices` (`[B]`). Reads, where given, `n_active`
 * (`[1]`) and `lengths` (`[B]`). Writes `destination` (`[T, B, N]`).
 *
 * @param context The context of the buffers.
 * @param desc    What to do; gather_rows_desc() helps.
 * @param stream  The CUDA stream; null is the context's own.
 * @throws error
 */
inline void gather_rows(const Context& context, const synfire_gather_rows_desc& desc, synfire_stream stream = nullptr) {
  const synfire_gather_rows_desc sized = detail::sized(desc);
  check(synfire_gather_rows(context, &sized, stream));
}

/**
 * Draws the rows of a batch now: the same operation that synfire_graph_record_shuffle() records. Calls do not advance
 * the offset: for the next batch, increase `offset` by 1.
 *
 * Calls synfire_shuffle(). Writes `indices` (`[B]`). Writes, where given, `n_active` (`[1]`).
 *
 * @param context The context of the buffers.
 * @param desc    What to do; shuffle_desc() helps.
 * @param stream  The CUDA stream; null is the context's own.
 * @throws error
 */
inline void shuffle(const Context& context, const synfire_shuffle_desc& desc, synfire_stream stream = nullptr) {
  const synfire_shuffle_desc sized = detail::sized(desc);
  check(synfire_shuffle(context, &sized, stream));
}

/**
 * Replaces what is not finite now: the same operation that synfire_graph_record_replace_nonfinite() records.
 *
 * Calls synfire_replace_nonfinite(). Reads `source` (`[T, B, N]`). Reads and writes `count` (`[1]`). Writes
 * `destination` (`[T, B, N]`).
 *
 * @param context The context of the buffers.
 * @param desc    What to do; replace_nonfinite_desc() helps.
 * @param stream  The CUDA stream; null is the context's own.
 * @throws error
 */
inline void replace_nonfinite(const Context& context, const synfire_replace_nonfinite_desc& desc,
                              synfire_stream stream = nullptr) {
  const synfire_replace_nonfinite_desc sized = detail::sized(desc);
  check(synfire_replace_nonfinite(context, &sized, stream));
}

/**
 * Reduces an array over its steps or its batch now: the same operation that synfire_graph_record_reduce() records.
 *
 * Calls synfire_reduce(). Reads `source` (`[T, B, N]`, dense or packed). Reads, where given, `lengths` (`[B]`) and
 * `n_active` (`[1]`). Writes `destination` (`[B, N]` or `[T, N]`).
 *
 * @param context The context of the buffers.
 * @param desc    What to do; reduce_desc() helps.
 * @param stream  The CUDA stream; null is the context's own.
 * @throws error
 */
inline void reduce(const Context& context, const synfire_reduce_desc& desc, synfire_stream stream = nullptr) {
  const synfire_reduce_desc sized = detail::sized(desc);
  check(synfire_reduce(context, &sized, stream));
}

/**
 * Computes the gradient of a reduction now: the same operation that synfire_graph_record_reduce_backward() records.
 *
 * Calls synfire_reduce_backward(). Reads `grad_destination` (`[B, N]` or `[T, N]`). Reads, where given, `source`
 * (`[T, B, N]`, dense or packed), `lengths` (`[B]`) and `n_active` (`[1]`). Reads and writes `grad_source`
 * (`[T, B, N]`).
 *
 * @param context The context of the buffers.
 * @param desc    What to do; reduce_backward_desc() helps.
 * @param stream  The CUDA stream; null is the context's own.
 * @throws error
 */
inline void reduce_backward(const Context& context, const synfire_reduce_backward_desc& desc,
                            synfire_stream stream = nullptr) {
  const synfire_reduce_backward_desc sized = detail::sized(desc);
  check(synfire_reduce_backward(context, &sized, stream));
}

/**
 * Computes a pool now: the same operation that synfire_graph_record_pool() records.
 *
 * Calls synfire_pool(). Reads `source` (`[T, B, N]`). Writes `destination` (`[T, B, M]`).
 *
 * @param context The context of the buffers.
 * @param desc    What to do; pool_desc() helps.
 * @param stream  The CUDA stream; null is the context's own.
 * @throws error
 */
inline void pool(const Context& context, const synfire_pool_desc& desc, synfire_stream stream = nullptr) {
  const synfire_pool_desc sized = detail::sized(desc);
  check(synfire_pool(context, &sized, stream));
}

/**
 * Computes the gradient of a pool now: the same operation that synfire_graph_record_pool_backward() records.
 *
 * Calls synfire_pool_backward(). Reads `grad_destination` (`[T, B, M]`). Reads, where given, `source` (`[T, B, N]`).
 * Reads and writes `grad_source` (`[T, B, N]`).
 *
 * @param context The context of the buffers.
 * @param desc    What to do; pool_backward_desc() helps.
 * @param stream  The CUDA stream; null is the context's own.
 * @throws error
 */
inline void pool_backward(const Context& context, const synfire_pool_backward_desc& desc,
                          synfire_stream stream = nullptr) {
  const synfire_pool_backward_desc sized = detail::sized(desc);
  check(synfire_pool_backward(context, &sized, stream));
}

/**
 * Computes an upsampling now: the same operation that synfire_graph_record_upsample() records.
 *
 * Calls synfire_upsample(). Reads `source` (`[T, B, N]`). Writes `destination` (`[T, B, M]`).
 *
 * @param context The context of the buffers.
 * @param desc    What to do; upsample_desc() helps.
 * @param stream  The CUDA stream; null is the context's own.
 * @throws error
 */
inline void upsample(const Context& context, const synfire_upsample_desc& desc, synfire_stream stream = nullptr) {
  const synfire_upsample_desc sized = detail::sized(desc);
  check(synfire_upsample(context, &sized, stream));
}

/**
 * Computes the gradient of an upsampling now: the same operation that synfire_graph_record_upsample_backward() records.
 *
 * Calls synfire_upsample_backward(). Reads `grad_destination` (`[T, B, M]`). Reads and writes `grad_source`
 * (`[T, B, N]`).
 *
 * @param context The context of the buffers.
 * @param desc    What to do; upsample_backward_desc() helps.
 * @param stream  The CUDA stream; null is the context's own.
 * @throws error
 */
inline void upsample_backward(const Context& context, const synfire_upsample_backward_desc& desc,
                              synfire_stream stream = nullptr) {
  const synfire_upsample_backward_desc sized = detail::sized(desc);
  check(synfire_upsample_backward(context, &sized, stream));
}

/**
 * Computes maps with a border of zeros now: the same operation that synfire_graph_record_pad() records.
 *
 * Calls synfire_pad(). Reads `source` (`[T, B, N]`). Writes `destination` (`[T, B, M]`).
 *
 * @param context The context of the buffers.
 * @param desc    What to do; pad_desc() helps.
 * @param stream  The CUDA stream; null is the context's own.
 * @throws error
 */
inline void pad(const Context& context, const synfire_pad_desc& desc, synfire_stream stream = nullptr) {
  const synfire_pad_desc sized = detail::sized(desc);
  check(synfire_pad(context, &sized, stream));
}

/**
 * Computes the gradient of a border of zeros now: the same operation that synfire_graph_record_pad_backward() records.
 *
 * Calls synfire_pad_backward(). Reads `grad_destination` (`[T, B, M]`). Reads and writes `grad_source` (`[T, B, N]`).
 *
 * @param context The context of the buffers.
 * @param desc    What to do; pad_backward_desc() helps.
 * @param stream  The CUDA stream; null is the context's own.
 * @throws error
 */
inline void pad_backward(const Context& context, const synfire_pad_backward_desc& desc,
                         synfire_stream stream = nullptr) {
  const synfire_pad_backward_desc sized = detail::sized(desc);
  check(synfire_pad_backward(context, &sized, stream));
}

/**
 * Computes a batch normalisation now: the same operation that synfire_graph_record_normalize() records.
 *
 * Calls synfire_normalize(). Reads `source` (`[T, B, N]`). Reads, where given, `gamma` (`[C]`), `beta` (`[C]`),
 * `lengths` (`[B]`) and `n_active` (`[1]`). Reads and writes, where given, `running_mean` (`[C]`) and
 * `running_variance` (`[C]`). Writes `destination` (`[T, B, N]`). Writes, where given, `saved` (`[4, C]`), `factor`
 * (`[C]`) and `addend` (`[C]`).
 *
 * @param context The context of the buffers.
 * @param desc    What to do; normalize_desc() helps.
 * @param stream  The CUDA stream; null is the context's own.
 * @throws error
 */
inline void normalize(const Context& context, const synfire_normalize_desc& desc, synfire_stream stream = nullptr) {
  const synfire_normalize_desc sized = detail::sized(desc);
  check(synfire_normalize(context, &sized, stream));
}

/**
 * Computes the gradients of a batch normalisation now: the same operation that
 * synfire_graph_record_normalize_backward() records.
 *
 * Calls synfire_normalize_backward(). Reads `grad_destination` (`[T, B, N]`) and `saved` (`[4, C]`). Reads, where
 * given, `source` (`[T, B, N]`), `gamma` (`[C]`), `lengths` (`[B]`) and `n_active` (`[1]`). Reads and writes, where
 * given, `grad_source` (`[T, B, N]`), `grad_gamma` (`[C]`) and `grad_beta` (`[C]`).
 *
 * @param context The context of the buffers.
 * @param desc    What to do; normalize_backward_desc() helps.
 * @param stream  The CUDA stream; null is the context's own.
 * @throws error
 */
inline void normalize_backward(const Context& context, const synfire_normalize_backward_desc& desc,
                               synfire_stream stream = nullptr) {
  const synfire_normalize_backward_desc sized = detail::sized(desc);
  check(synfire_normalize_backward(context, &sized, stream));
}

/**
 * Computes a rate loss and its gradient now: the same operation that synfire_graph_record_rate_loss() records.
 *
 * Calls synfire_rate_loss(). Reads `spikes` (`[T, B, N]`, dense or packed). Reads, where given, `lengths` (`[B]`) and
 * `n_active` (`[1]`). Reads and writes, where given, `loss` (`[1]`) and `grad_spike_seq` (`[T, B, N]`).
 *
 * @param context The context of the buffers.
 * @param desc    What to do; rate_loss_desc() helps.
 * @param stream  The CUDA stream; null is the context's own.
 * @throws error
 */
inline void rate_loss(const Context& context, const synfire_rate_loss_desc& desc, synfire_stream stream = nullptr) {
  const synfire_rate_loss_desc sized = detail::sized(desc);
  check(synfire_rate_loss(context, &sized, stream));
}

/**
 * Computes a loss now: the same operation that synfire_graph_record_loss() records.
 *
 * Calls synfire_loss(). Reads `source` (`[T, B, C]`) and `labels` (`[B]` or `[T, B]`; unless `targets` is given).
 * Reads, where given, `targets` (`[B, C]` or `[T, B, C]`), `lengths` (`[B]`), `n_active` (`[1]`), `sample_weights`
 * (`[B]`) and `class_weights` (`[C]`). Reads and writes, where given, `loss` (`[1]`), `n_correct` (`[1]`), `n_counted`
 * (`[1]`), `gradient` (`[T, B, C]`) and `divisor` (`[1]`). Writes, where given, `losses` (`[T, B]`) and `predictions`
 * (`[T, B]`).
 *
 * @param context The context of the buffers.
 * @param desc    What to do; loss_desc() helps.
 * @param stream  The CUDA stream; null is the context's own.
 * @throws error
 */
inline void loss(const Context& context, const synfire_loss_desc& desc, synfire_stream stream = nullptr) {
  const synfire_loss_desc sized = detail::sized(desc);
  check(synfire_loss(context, &sized, stream));
}

/**
 * Computes destination = keep * destination + scale * source now: the same operation that
 * synfire_graph_record_scale_add() records.
 *
 * Calls synfire_scale_add(). Reads `source`. Reads and writes `destination` (the shape of `source`).
 *
 * @param context The context of the buffers.
 * @param desc    What to do; scale_add_desc() helps.
 * @param stream  The CUDA stream; null is the context's own.
 * @throws error
 */
inline void scale_add(const Context& context, const synfire_scale_add_desc& desc, synfire_stream stream = nullptr) {
  const synfire_scale_add_desc sized = detail::sized(desc);
  check(synfire_scale_add(context, &sized, stream));
}

/**
 * Combines several arrays into one now: the same operation that synfire_graph_record_combine() records.
 *
 * Calls synfire_combine(). Reads `sources` (`[T, B, N]`, dense or packed). Writes `destination` (`[T, B, N]`, dense or
 * packed).
 *
 * @param context The context of the buffers.
 * @param desc    What to do; combine_desc() helps.
 * @param stream  The CUDA stream; null is the context's own.
 * @throws error
 */
inline void combine(const Context& context, const synfire_combine_desc& desc, synfire_stream stream = nullptr) {
  const synfire_combine_desc sized = detail::sized(desc);
  check(synfire_combine(context, &sized, stream));
}

/**
 * Computes the gradient of a combination with respect to one of its sources now: the same operation that
 * synfire_graph_record_combine_backward() records.
 *
 * Calls synfire_combine_backward(). Reads `grad_destination` (`[T, B, N]`). Reads, where given, `other` (`[T, B, N]`,
 * dense or packed). Reads and writes `grad_source` (`[T, B, N]`).
 *
 * @param context The context of the buffers.
 * @param desc    What to do; combine_backward_desc() helps.
 * @param stream  The CUDA stream; null is the context's own.
 * @throws error
 */
inline void combine_backward(const Context& context, const synfire_combine_backward_desc& desc,
                             synfire_stream stream = nullptr) {
  const synfire_combine_backward_desc sized = detail::sized(desc);
  check(synfire_combine_backward(context, &sized, stream));
}

/**
 * Computes means over groups of neighbours now: the same operation that synfire_graph_record_group_mean() records.
 *
 * Calls synfire_group_mean(). Reads `source` (`[T, B, G * M]`). Writes `destination` (`[T, B, G]`).
 *
 * @param context The context of the buffers.
 * @param desc    What to do; group_mean_desc() helps.
 * @param stream  The CUDA stream; null is the context's own.
 * @throws error
 */
inline void group_mean(const Context& context, const synfire_group_mean_desc& desc, synfire_stream stream = nullptr) {
  const synfire_group_mean_desc sized = detail::sized(desc);
  check(synfire_group_mean(context, &sized, stream));
}

/**
 * Computes the gradient of means over groups now: the same operation that synfire_graph_record_group_mean_backward()
 * records.
 *
 * Calls synfire_group_mean_backward(). Reads `grad_destination` (`[T, B, G]`). Reads and writes `grad_source`
 * (`[T, B, G * M]`).
 *
 * @param context The context of the buffers.
 * @param desc    What to do; group_mean_backward_desc() helps.
 * @param stream  The CUDA stream; null is the context's own.
 * @throws error
 */
inline void group_mean_backward(const Context& context, const synfire_group_mean_backward_desc& desc,
                                synfire_stream stream = nullptr) {
  const synfire_group_mean_backward_desc sized = detail::sized(desc);
  check(synfire_group_mean_backward(context, &sized, stream));
}

/**
 * Draws a mask of dropout now: the same operation that synfire_graph_record_dropout() records. Calls do not advance the
 * offset: for the next mask, increase `offset` by 1.
 *
 * Calls synfire_dropout(). Writes `mask` (`[B, N]`) and `scale` (`[1]`).
 *
 * @param context The context of the buffers.
 * @param desc    What to do; dropout_desc() helps.
 * @param stream  The CUDA stream; null is the context's own.
 * @throws error
 */
inline void dropout(const Context& context, const synfire_dropout_desc& desc, synfire_stream stream = nullptr) {
  const synfire_dropout_desc sized = detail::sized(desc);
  check(synfire_dropout(context, &sized, stream));
}

// ---- generated from synfire.h by bindings/cpp/generate.py: end context

// ---- Graphs ---------------------------------------------------------------------------------------------------------

/** The number of one replay: 1, 2, 3 ... */
using Ticket = std::uint64_t;

/** How Graph::wait() waits. */
enum class WaitPolicy : std::int32_t {
  /** ::SYNFIRE_WAIT_SPIN: the lowest latency, one busy processor. */
  spin = SYNFIRE_WAIT_SPIN,
  /** ::SYNFIRE_WAIT_YIELD: yields the processor to other threads in between. */
  yield = SYNFIRE_WAIT_YIELD,
  /** ::SYNFIRE_WAIT_BLOCK: sleeps; the lowest load, the highest latency. */
  block = SYNFIRE_WAIT_BLOCK
};

/** The result of waiting for a replay. */
enum class Waited : std::int32_t {
  /** The replay is done; everything it wrote is visible to the host. */
  done = SYNFIRE_OK,
  /** The time was up first; the replay continues and still uses its buffers. */
  pending = SYNFIRE_PENDING
};

/** @cond DETAIL */
namespace detail {

// The time-out for synfire_graph_wait(). There, a negative one waits for ever; a deadline that has passed must not.
// Computed in double, because durations in large units overflow in integer nanoseconds; exact up to 104 days.
template <class Rep, class Period>
std::int64_t timeout_ns(std::chrono::duration<Rep, Period> timeout) noexcept {
  const double count = std::chrono::duration<double, std::nano>(timeout).count();
  if (!(count > 0)) return 0;
  if (count >= 9.2e18) return std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(count);
}

inline Waited waited(synfire_status status) {
  return check(status) == SYNFIRE_PENDING ? Waited::pending : Waited::done;
}

// The callback of a native node. The library gets call_native() instead, so that no exception reaches a frame of the
// library.
struct NativeNode {
  synfire_native_callback callback;
  void* user;
};

// The exception of the last native node on this thread, until the call that led to it has returned.
inline std::exception_ptr& thrown() noexcept {
  static thread_local std::exception_ptr exception;
  return exception;
}

inline synfire_status SYNFIRE_CALL call_native(void* user, const synfire_native_call* call) noexcept {
  const NativeNode& node = *static_cast<const NativeNode*>(user);
  synfire_status status = SYNFIRE_ERROR_CALLBACK;
  std::exception_ptr exception;
  try {
    status = node.callback(node.user, call);
  } catch (...) {
    exception = std::current_exception();
  }
  // Last, because the callback may have launched other graphs.
  thrown() = std::move(exception);
  return status;
}

}  // namespace detail
/** @endcond */

/** A list of operations, recorded once, instantiated once, replayed many times. See ::synfire_graph. */
class Graph : public Owner<synfire_graph> {
 public:
  /** No graph. */
  Graph() noexcept = default;

  /**
   * Creates an empty graph. Calls synfire_graph_create().
   *
   * @param context The context it belongs to.
   * @param desc    What to create.
   * @throws error
   */
  explicit Graph(const Context& context, const synfire_graph_desc& desc = detail::empty<synfire_graph_desc>()) {
    const synfire_graph_desc sized = detail::sized(desc);
    check(synfire_graph_create(context, &sized, &handle_));
  }

  /**
   * Takes ownership of a handle.
   *
   * @param handle A graph that nothing else destroys, or null.
   */
  explicit Graph(synfire_graph handle) noexcept : Owner(handle) {}

  /**
   * Gives up ownership of the handle; this object is null afterwards. The 16 bytes that record_native() keeps for each
   * native node are then never freed, because this object cannot know when the graph is destroyed.
   *
   * @return The handle, which the caller must destroy.
   */
  [[nodiscard]] synfire_graph release() noexcept {
    for (auto& node : nodes_) static_cast<void>(node.release());
    nodes_.clear();
    return Owner::release();
  }

  /** Destroys the handle now; this object is null afterwards. */
  void reset() noexcept {
    Owner::reset();
    nodes_.clear();
  }

  // ---- generated from synfire.h by bindings/cpp/generate.py: begin graph

  /**
   * Appends a forward pass. All checks happen here, none at launch. A layer may occur in a graph any number of times:
   * each forward that starts from the layer's state continues from the state that the previous one left.
   *
   * Calls synfire_graph_record_forward(). Reads `x` (`[T, B, N]`; unless `synapse` is given). Reads, where given,
   * `v_init` (`[B, N]`), `w_init` (`[B, N]`), `synapse_input` (`[T, B, K]`, dense or packed), `n_active` (`[1]`) and
   * `spikes_init` (`[D, B, N]`). Writes, where given, `spikes` (`[T, B, N]`, dense or packed), `v_final` (`[B, N]`),
   * `v_seq` (`[T, B, N]`), `h_seq` (`[T, B, N]`), `w_final` (`[B, N]`), `w_seq` (`[T, B, N]`) and `spikes_final`
   * (`[D, B, N]`).
   *
   * @param layer A layer of the same context.
   * @param desc  What to do; forward_desc() helps.
   * @throws error
   */
  void record_forward(const Layer& layer, const synfire_forward_desc& desc) {
    const synfire_forward_desc sized = detail::sized(desc);
    check(synfire_graph_record_forward(handle_, layer, &sized));
  }

  /**
   * Appends a backward pass through time for a forward of the layer: the one that `desc.forward` names, else the one
   * recorded last in this graph, else the one that was recorded or run last anywhere. If that forward does not run in
   * the same replay, because it is not in the graph or is disabled, each launch checks that its tape is still valid.
   *
   * Calls synfire_graph_record_backward(). Reads, where given, `grad_spike_seq` (`[T, B, N]`), `grad_v_seq`
   * (`[T, B, N]`), `grad_v_final` (`[B, N]`), `grad_w_seq` (`[T, B, N]`), `grad_w_final` (`[B, N]`) and
   * `grad_spikes_final` (`[D, B, N]`). Reads and writes, where given, `grad_synapse_input` (`[T, B, K]`). Writes, where
   * given, `grad_x_seq` (`[T, B, N]`), `grad_v_init` (`[B, N]`), `grad_w_init` (`[B, N]`) and `grad_spikes_init`
   * (`[D, B, N]`).
   *
   * @param layer A layer of the same context.
   * @param desc  What to do; backward_desc() helps.
   * @throws error
   */
  void record_backward(const Layer& layer, const synfire_backward_desc& desc) {
    const synfire_backward_desc sized = detail::sized(desc);
    check(synfire_graph_record_backward(handle_, layer, &sized));
  }

  /**
   * Appends a copy.
   *
   * Calls synfire_graph_record_copy(). Reads `source`. Writes `destination`.
   *
   * @param desc What to do; copy_desc() helps.
   * @throws error
   */
  void record_copy(const synfire_copy_desc& desc) {
    const synfire_copy_desc sized = detail::sized(desc);
    check(synfire_graph_record_copy(handle_, &sized));
  }

  /**
   * Appends a conversion of spikes from one format to another.
   *
   * Calls synfire_graph_record_convert_spikes(). Reads `source` (`[T, B, N]`, dense or packed). Writes `destination`
   * (`[T, B, N]`, dense or packed).
   *
   * @param desc What to do; convert_spikes_desc() helps.
   * @throws error
   */
  void record_convert_spikes(const synfire_convert_spikes_desc& desc) {
    const synfire_convert_spikes_desc sized = detail::sized(desc);
    check(synfire_graph_record_convert_spikes(handle_, &sized));
  }

  /**
   * Appends a count of spikes.
   *
   * Calls synfire_graph_record_count_spikes(). Reads `spikes` (`[T, B, N]`, dense or packed). Writes `counts`
   * (`[B, N]`, `[T]` or `[1]`).
   *
   * @param desc What to do; count_spikes_desc() helps.
   * @throws error
   */
  void record_count_spikes(const synfire_count_spikes_desc& desc) {
    const synfire_count_spikes_desc sized = detail::sized(desc);
    check(synfire_graph_record_count_spikes(handle_, &sized));
  }

  /**
   * Appends an encoding of rates as spikes; synfire_encode_bernoulli_desc says how. The first replay begins at
   * synfire_encode_bernoulli_desc::offset, and each later one where the one before it ended, without involving the
   * host: replays never draw the same numbers again. A replay in which the operation is disabled does not advance.
   * Setting the operation's value `"offset"` makes the next launch begin there, even if an earlier one already did.
   *
   * Calls synfire_graph_record_encode_bernoulli(). Reads `rates` (`[B, N]` or `[T, B, N]`). Writes `spikes`
   * (`[T, B, N]`, dense or packed).
   *
   * @param desc What to do; encode_bernoulli_desc() helps.
   * @throws error
   */
  void record_encode_bernoulli(const synfire_encode_bernoulli_desc& desc) {
    const synfire_encode_bernoulli_desc sized = detail::sized(desc);
    check(synfire_graph_record_encode_bernoulli(handle_, &sized));
  }

  /**
   * Appends a binning of events of a camera; synfire_bin_events_desc says how. How many events there are, and where the
   * window begins, may differ in every replay. The first replay augments with the numbers of
   * synfire_bin_events_desc::offset, and each later one with the next, without involving the host. A replay in which
   * the operation is disabled does not advance. Setting the operation's value `"offset"` makes the next launch begin
   * there, even if an earlier one already did.
   *
   * Calls synfire_graph_record_bin_events(). Reads `events` (`[B, capacity]`) and `event_counts` (`[B]`). Reads, where
   * given, `window` (`[B, 2]`). Writes `destination` (`[T, B, N]`) and `faults` (`[B, 5]`).
   *
   * @param desc What to do; bin_events_desc() helps.
   * @throws error
   */
  void record_bin_events(const synfire_bin_events_desc& desc) {
    const synfire_bin_events_desc sized = detail::sized(desc);
    check(synfire_graph_record_bin_events(handle_, &sized));
  }

  /**
   * Appends a gather of rows of a data set into a batch.
   *
   * Calls synfire_graph_record_gather_rows(). Reads `source` (`[R, T, N]`) and `indices` (`[B]`). Reads, where given,
   * `n_active` (`[1]`) and `lengths` (`[B]`). Writes `destination` (`[T, B, N]`).
   *
   * @param desc What to do; gather_rows_desc() helps.
   * @throws error
   */
  void record_gather_rows(const synfire_gather_rows_desc& desc) {
    const synfire_gather_rows_desc sized = detail::sized(desc);
    check(synfire_graph_record_gather_rows(handle_, &sized));
  }

  /**
   * Appends a draw of the rows of a batch; synfire_shuffle_desc says which. The first replay draws batch
   * synfire_shuffle_desc::offset, and each later one the batch after the one before it, without involving the host:
   * after the last batch of an epoch comes the first one of the next epoch, in another order. A replay in which the
   * operation is disabled does not advance. Setting the operation's value `"offset"` makes the next launch draw that
   * batch, even if an earlier one already did.
   *
   * Calls synfire_graph_record_shuffle(). Writes `indices` (`[B]`). Writes, where given, `n_active` (`[1]`).
   *
   * @param desc What to do; shuffle_desc() helps.
   * @throws error
   */
  void record_shuffle(const synfire_shuffle_desc& desc) {
    const synfire_shuffle_desc sized = detail::sized(desc);
    check(synfire_graph_record_shuffle(handle_, &sized));
  }

  /**
   * Appends a replacement of what is not finite.
   *
   * Calls synfire_graph_record_replace_nonfinite(). Reads `source` (`[T, B, N]`). Reads and writes `count` (`[1]`).
   * Writes `destination` (`[T, B, N]`).
   *
   * @param desc What to do; replace_nonfinite_desc() helps.
   * @throws error
   */
  void record_replace_nonfinite(const synfire_replace_nonfinite_desc& desc) {
    const synfire_replace_nonfinite_desc sized = detail::sized(desc);
    check(synfire_graph_record_replace_nonfinite(handle_, &sized));
  }

  /**
   * Appends a reduction; synfire_reduce_desc says what is computed.
   *
   * Calls synfire_graph_record_reduce(). Reads `source` (`[T, B, N]`, dense or packed). Reads, where given, `lengths`
   * (`[B]`) and `n_active` (`[1]`). Writes `destination` (`[B, N]` or `[T, N]`).
   *
   * @param desc What to do; reduce_desc() helps.
   * @throws error
   */
  void record_reduce(const synfire_reduce_desc& desc) {
    const synfire_reduce_desc sized = detail::sized(desc);
    check(synfire_graph_record_reduce(handle_, &sized));
  }

  /**
   * Appends the gradient of a reduction; synfire_reduce_backward_desc says what is computed.
   *
   * Calls synfire_graph_record_reduce_backward(). Reads `grad_destination` (`[B, N]` or `[T, N]`). Reads, where given,
   * `source` (`[T, B, N]`, dense or packed), `lengths` (`[B]`) and `n_active` (`[1]`). Reads and writes `grad_source`
   * (`[T, B, N]`).
   *
   * @param desc What to do; reduce_backward_desc() helps.
   * @throws error
   */
  void record_reduce_backward(const synfire_reduce_backward_desc& desc) {
    const synfire_reduce_backward_desc sized = detail::sized(desc);
    check(synfire_graph_record_reduce_backward(handle_, &sized));
  }

  /**
   * Appends a pool; synfire_pool_desc says what is computed.
   *
   * Calls synfire_graph_record_pool(). Reads `source` (`[T, B, N]`). Writes `destination` (`[T, B, M]`).
   *
   * @param desc What to do; pool_desc() helps.
   * @throws error
   */
  void record_pool(const synfire_pool_desc& desc) {
    const synfire_pool_desc sized = detail::sized(desc);
    check(synfire_graph_record_pool(handle_, &sized));
  }

  /**
   * Appends the gradient of a pool; synfire_pool_backward_desc says what is computed.
   *
   * Calls synfire_graph_record_pool_backward(). Reads `grad_destination` (`[T, B, M]`). Reads, where given, `source`
   * (`[T, B, N]`). Reads and writes `grad_source` (`[T, B, N]`).
   *
   * @param desc What to do; pool_backward_desc() helps.
   * @throws error
   */
  void record_pool_backward(const synfire_pool_backward_desc& desc) {
    const synfire_pool_backward_desc sized = detail::sized(desc);
    check(synfire_graph_record_pool_backward(handle_, &sized));
  }

  /**
   * Appends an upsampling; synfire_upsample_desc says what is computed.
   *
   * Calls synfire_graph_record_upsample(). Reads `source` (`[T, B, N]`). Writes `destination` (`[T, B, M]`).
   *
   * @param desc What to do; upsample_desc() helps.
   * @throws error
   */
  void record_upsample(const synfire_upsample_desc& desc) {
    const synfire_upsample_desc sized = detail::sized(desc);
    check(synfire_graph_record_upsample(handle_, &sized));
  }

  /**
   * Appends the gradient of an upsampling; synfire_upsample_backward_desc says what is computed.
   *
   * Calls synfire_graph_record_upsample_backward(). Reads `grad_destination` (`[T, B, M]`). Reads and writes
   * `grad_source` (`[T, B, N]`).
   *
   * @param desc What to do; upsample_backward_desc() helps.
   * @throws error
   */
  void record_upsample_backward(const synfire_upsample_backward_desc& desc) {
    const synfire_upsample_backward_desc sized = detail::sized(desc);
    check(synfire_graph_record_upsample_backward(handle_, &sized));
  }

  /**
   * Appends a border of zeros; synfire_pad_desc says what is computed.
   *
   * Calls synfire_graph_record_pad(). Reads `source` (`[T, B, N]`). Writes `destination` (`[T, B, M]`).
   *
   * @param desc What to do; pad_desc() helps.
   * @throws error
   */
  void record_pad(const synfire_pad_desc& desc) {
    const synfire_pad_desc sized = detail::sized(desc);
    check(synfire_graph_record_pad(handle_, &sized));
  }

  /**
   * Appends the gradient of a border of zeros; synfire_pad_backward_desc says what is computed.
   *
   * Calls synfire_graph_record_pad_backward(). Reads `grad_destination` (`[T, B, M]`). Reads and writes `grad_source`
   * (`[T, B, N]`).
   *
   * @param desc What to do; pad_backward_desc() helps.
   * @throws error
   */
  void record_pad_backward(const synfire_pad_backward_desc& desc) {
    const synfire_pad_backward_desc sized = detail::sized(desc);
    check(synfire_graph_record_pad_backward(handle_, &sized));
  }

  /**
   * Appends a batch normalisation; synfire_normalize_desc says what is computed.
   *
   * Calls synfire_graph_record_normalize(). Reads `source` (`[T, B, N]`). Reads, where given, `gamma` (`[C]`), `beta`
   * (`[C]`), `lengths` (`[B]`) and `n_active` (`[1]`). Reads and writes, where given, `running_mean` (`[C]`) and
   * `running_variance` (`[C]`). Writes `destination` (`[T, B, N]`). Writes, where given, `saved` (`[4, C]`), `factor`
   * (`[C]`) and `addend` (`[C]`).
   *
   * @param desc What to do; normalize_desc() helps.
   * @throws error
   */
  void record_normalize(const synfire_normalize_desc& desc) {
    const synfire_normalize_desc sized = detail::sized(desc);
    check(synfire_graph_record_normalize(handle_, &sized));
  }

  /**
   * Appends the gradients of a batch normalisation; synfire_normalize_backward_desc says what is computed.
   *
   * Calls synfire_graph_record_normalize_backward(). Reads `grad_destination` (`[T, B, N]`) and `saved` (`[4, C]`).
   * Reads, where given, `source` (`[T, B, N]`), `gamma` (`[C]`), `lengths` (`[B]`) and `n_active` (`[1]`). Reads and
   * writes, where given, `grad_source` (`[T, B, N]`), `grad_gamma` (`[C]`) and `grad_beta` (`[C]`).
   *
   * @param desc What to do; normalize_backward_desc() helps.
   * @throws error
   */
  void record_normalize_backward(const synfire_normalize_backward_desc& desc) {
    const synfire_normalize_backward_desc sized = detail::sized(desc);
    check(synfire_graph_record_normalize_backward(handle_, &sized));
  }

  /**
   * Appends a rate loss; synfire_rate_loss_desc says what is computed.
   *
   * Calls synfire_graph_record_rate_loss(). Reads `spikes` (`[T, B, N]`, dense or packed). Reads, where given,
   * `lengths` (`[B]`) and `n_active` (`[1]`). Reads and writes, where given, `loss` (`[1]`) and `grad_spike_seq`
   * (`[T, B, N]`).
   *
   * @param desc What to do; rate_loss_desc() helps.
   * @throws error
   */
  void record_rate_loss(const synfire_rate_loss_desc& desc) {
    const synfire_rate_loss_desc sized = detail::sized(desc);
    check(synfire_graph_record_rate_loss(handle_, &sized));
  }

  /**
   * Appends a loss; synfire_loss_desc says what is computed. The operation's values are `"gradient_scale"` and, of a
   * cross-entropy, `"label_smoothing"`.
   *
   * Calls synfire_graph_record_loss(). Reads `source` (`[T, B, C]`) and `labels` (`[B]` or `[T, B]`; unless `targets`
   * is given). Reads, where given, `targets` (`[B, C]` or `[T, B, C]`), `lengths` (`[B]`), `n_active` (`[1]`),
   * `sample_weights` (`[B]`) and `class_weights` (`[C]`). Reads and writes, where given, `loss` (`[1]`), `n_correct`
   * (`[1]`), `n_counted` (`[1]`), `gradient` (`[T, B, C]`) and `divisor` (`[1]`). Writes, where given, `losses`
   * (`[T, B]`) and `predictions` (`[T, B]`).
   *
   * @param desc What to do; loss_desc() helps.
   * @throws error
   */
  void record_loss(const synfire_loss_desc& desc) {
    const synfire_loss_desc sized = detail::sized(desc);
    check(synfire_graph_record_loss(handle_, &sized));
  }

  /**
   * Appends a fill.
   *
   * Calls synfire_graph_record_fill(). Writes `buffer`.
   *
   * @param desc What to do; fill_desc() helps.
   * @throws error
   */
  void record_fill(const synfire_fill_desc& desc) {
    const synfire_fill_desc sized = detail::sized(desc);
    check(synfire_graph_record_fill(handle_, &sized));
  }

  /**
   * Appends a scale-and-add; synfire_scale_add() says what is computed.
   *
   * Calls synfire_graph_record_scale_add(). Reads `source`. Reads and writes `destination` (the shape of `source`).
   *
   * @param desc What to do; scale_add_desc() helps.
   * @throws error
   */
  void record_scale_add(const synfire_scale_add_desc& desc) {
    const synfire_scale_add_desc sized = detail::sized(desc);
    check(synfire_graph_record_scale_add(handle_, &sized));
  }

  /**
   * Appends a combination of several arrays into one; synfire_combine() says what is computed.
   *
   * Calls synfire_graph_record_combine(). Reads `sources` (`[T, B, N]`, dense or packed). Writes `destination`
   * (`[T, B, N]`, dense or packed).
   *
   * @param desc What to do; combine_desc() helps.
   * @throws error
   */
  void record_combine(const synfire_combine_desc& desc) {
    const synfire_combine_desc sized = detail::sized(desc);
    check(synfire_graph_record_combine(handle_, &sized));
  }

  /**
   * Appends the gradient of a combination with respect to one of its sources; synfire_combine_backward() says what is
   * computed.
   *
   * Calls synfire_graph_record_combine_backward(). Reads `grad_destination` (`[T, B, N]`). Reads, where given, `other`
   * (`[T, B, N]`, dense or packed). Reads and writes `grad_source` (`[T, B, N]`).
   *
   * @param desc What to do; combine_backward_desc() helps.
   * @throws error
   */
  void record_combine_backward(const synfire_combine_backward_desc& desc) {
    const synfire_combine_backward_desc sized = detail::sized(desc);
    check(synfire_graph_record_combine_backward(handle_, &sized));
  }

  /**
   * Appends means over groups of neighbours; synfire_group_mean() says what is computed.
   *
   * Calls synfire_graph_record_group_mean(). Reads `source` (`[T, B, G * M]`). Writes `destination` (`[T, B, G]`).
   *
   * @param desc What to do; group_mean_desc() helps.
   * @throws error
   */
  void record_group_mean(const synfire_group_mean_desc& desc) {
    const synfire_group_mean_desc sized = detail::sized(desc);
    check(synfire_graph_record_group_mean(handle_, &sized));
  }

  /**
   * Appends the gradient of means over groups; synfire_group_mean_backward() says what is computed.
   *
   * Calls synfire_graph_record_group_mean_backward(). Reads `grad_destination` (`[T, B, G]`). Reads and writes
   * `grad_source` (`[T, B, G * M]`).
   *
   * @param desc What to do; group_mean_backward_desc() helps.
   * @throws error
   */
  void record_group_mean_backward(const synfire_group_mean_backward_desc& desc) {
    const synfire_group_mean_backward_desc sized = detail::sized(desc);
    check(synfire_graph_record_group_mean_backward(handle_, &sized));
  }

  /**
   * Appends one step of gradient descent on a parameter: p = clamp(p - learning_rate * gradient).
   *
   * Calls synfire_graph_record_update_parameter(). Reads `gradient` (`[1]`, `[C]` or `[N]`).
   *
   * @param layer A layer of the same context.
   * @param desc  What to do; update_parameter_desc() helps.
   * @throws error
   */
  void record_update_parameter(const Layer& layer, const synfire_update_parameter_desc& desc) {
    const synfire_update_parameter_desc sized = detail::sized(desc);
    check(synfire_graph_record_update_parameter(handle_, layer, &sized));
  }

  /**
   * Appends a reset of rows of a state; as synfire_layer_reset_rows(). Every replay reads the mask.
   *
   * Calls synfire_graph_record_reset_rows(). Reads, where given, `buffer` (`[B]`).
   *
   * @param layer A layer of the same context.
   * @param desc  What to do; state_desc() helps.
   * @throws error
   */
  void record_reset_rows(const Layer& layer, const synfire_state_desc& desc) {
    const synfire_state_desc sized = detail::sized(desc);
    check(synfire_graph_record_reset_rows(handle_, layer, &sized));
  }

  /**
   * Appends a copy of rows of a state variable into a buffer; as synfire_layer_read_rows().
   *
   * Calls synfire_graph_record_read_rows(). Writes `buffer` (`[n_rows, N]`).
   *
   * @param layer A layer of the same context.
   * @param desc  What to do; state_desc() helps.
   * @throws error
   */
  void record_read_rows(const Layer& layer, const synfire_state_desc& desc) {
    const synfire_state_desc sized = detail::sized(desc);
    check(synfire_graph_record_read_rows(handle_, layer, &sized));
  }

  /**
   * Appends a copy of a buffer into rows of a state variable; as synfire_layer_write_rows().
   *
   * Calls synfire_graph_record_write_rows(). Reads `buffer` (`[n_rows, N]`).
   *
   * @param layer A layer of the same context.
   * @param desc  What to do; state_desc() helps.
   * @throws error
   */
  void record_write_rows(const Layer& layer, const synfire_state_desc& desc) {
    const synfire_state_desc sized = detail::sized(desc);
    check(synfire_graph_record_write_rows(handle_, layer, &sized));
  }

  /**
   * Appends a copy of rows of the state of one layer to another; as synfire_layer_copy_rows().
   *
   * Calls synfire_graph_record_copy_rows().
   *
   * @param layer A layer of the same context.
   * @param desc  What to do; copy_rows_desc() helps.
   * @throws error
   */
  void record_copy_rows(const Layer& layer, const synfire_copy_rows_desc& desc) {
    const synfire_copy_rows_desc sized = detail::sized(desc);
    check(synfire_graph_record_copy_rows(handle_, layer, &sized));
  }

  /**
   * Appends a snapshot of rows of a state into a buffer. It has the size of a snapshot from synfire_layer_snapshot(),
   * and synfire_layer_restore() accepts it. It has no checksum.
   *
   * Calls synfire_graph_record_snapshot(). Writes `buffer`.
   *
   * @param layer A layer of the same context.
   * @param desc  What to do; state_desc() helps.
   * @throws error
   */
  void record_snapshot(const Layer& layer, const synfire_state_desc& desc) {
    const synfire_state_desc sized = detail::sized(desc);
    check(synfire_graph_record_snapshot(handle_, layer, &sized));
  }

  /**
   * Appends a restore of a snapshot from a buffer. A replay that finds no snapshot of this layout in the buffer leaves
   * the state unchanged.
   *
   * Calls synfire_graph_record_restore(). Reads `buffer`.
   *
   * @param layer A layer of the same context.
   * @param desc  What to do; state_desc() helps.
   * @throws error
   */
  void record_restore(const Layer& layer, const synfire_state_desc& desc) {
    const synfire_state_desc sized = detail::sized(desc);
    check(synfire_graph_record_restore(handle_, layer, &sized));
  }

  /**
   * Appends the product of a synapse with its input.
   *
   * Calls synfire_graph_record_synapse_forward(). Reads `input` (`[T, B, K]`, dense or packed). Reads, where given,
   * `n_active` (`[1]`), `input_mask` (`[B, K]`), `input_scale` (`[1]`) and `history` (`[M, B, K]`). Writes `output`
   * (`[T, B, N]`). Writes, where given, `next_history` (`[M, B, K]`).
   *
   * @param synapse A synapse of the same context.
   * @param desc    What to do; synapse_forward_desc() helps.
   * @throws error
   */
  void record_synapse_forward(const Synapse& synapse, const synfire_synapse_forward_desc& desc) {
    const synfire_synapse_forward_desc sized = detail::sized(desc);
    check(synfire_graph_record_synapse_forward(handle_, synapse, &sized));
  }

  /**
   * Appends the gradients of a product of a synapse with its input. A synapse may occur several times in a graph; with
   * synfire_synapse_backward_desc::add_gradients its gradients add up.
   *
   * Calls synfire_graph_record_synapse_backward(). Reads `grad_output` (`[T, B, N]`). Reads, where given, `input`
   * (`[T, B, K]`, dense or packed), `n_active` (`[1]`), `input_mask` (`[B, K]`), `input_scale` (`[1]`) and `history`
   * (`[M, B, K]`). Reads and writes, where given, `grad_input` (`[T, B, K]`).
   *
   * @param synapse A synapse of the same context.
   * @param desc    What to do; synapse_backward_desc() helps.
   * @throws error
   */
  void record_synapse_backward(const Synapse& synapse, const synfire_synapse_backward_desc& desc) {
    const synfire_synapse_backward_desc sized = detail::sized(desc);
    check(synfire_graph_record_synapse_backward(handle_, synapse, &sized));
  }

  /**
   * Appends a draw of a mask of dropout. The first replay draws mask synfire_dropout_desc::offset, and each later one
   * the mask after the one before it, without involving the host. A replay in which the operation is disabled does not
   * advance. Setting the operation's value `"offset"` makes the next launch draw that mask, even if an earlier one
   * already did; setting `"probability"` to 0 and back changes between evaluation and training.
   *
   * Calls synfire_graph_record_dropout(). Writes `mask` (`[B, N]`) and `scale` (`[1]`).
   *
   * @param desc What to do; dropout_desc() helps.
   * @throws error
   */
  void record_dropout(const synfire_dropout_desc& desc) {
    const synfire_dropout_desc sized = detail::sized(desc);
    check(synfire_graph_record_dropout(handle_, &sized));
  }

  /**
   * Appends a step of an optimiser, with the values `"learning_rate"`, `"weight_decay"` and `"clip_norm"` (at least 0),
   * and those of its schedule: `"schedule"`, `"warmup_steps"`, `"schedule_steps"` and `"schedule_factor"`.
   *
   * Calls synfire_graph_record_optimizer_step().
   *
   * @param optimizer An optimizer of the same context.
   * @param desc      What to do; optimizer_step_desc() helps.
   * @throws error
   */
  void record_optimizer_step(const Optimizer& optimizer, const synfire_optimizer_step_desc& desc) {
    const synfire_optimizer_step_desc sized = detail::sized(desc);
    check(synfire_graph_record_optimizer_step(handle_, optimizer, &sized));
  }

  /**
   * Reports the memory that a graph holds: operations, slots, tapes, values and its arena. Buffers and layers that it
   * uses count where they were created.
   *
   * Calls synfire_graph_get_memory_use().
   *
   * @return `use`, as synfire_graph_get_memory_use() gives it.
   * @throws error
   */
  synfire_memory_use memory_use() const {
    auto use = detail::empty<synfire_memory_use>();
    check(synfire_graph_get_memory_use(handle_, &use));
    return use;
  }

  // ---- generated from synfire.h by bindings/cpp/generate.py: end graph

  /**
   * Appends a native node. Calls synfire_graph_record_native(), but the callback may throw: launch(), instantiate() or
   * rebind() rethrows the exception, and the graph stays usable. If the C ABI is called with the handle instead, that
   * call returns ::SYNFIRE_ERROR_CALLBACK.
   *
   * @param desc The function, and which buffers it reads and writes.
   * @throws error
   */
  void record_native(const synfire_native_desc& desc) {
    synfire_native_desc sized = detail::sized(desc);
    nodes_.push_back(std::make_unique<detail::NativeNode>(detail::NativeNode{sized.callback, sized.user}));
    if (sized.callback) {
      sized.callback = &detail::call_native;
      sized.user = nodes_.back().get();
    }
    const synfire_status status = synfire_graph_record_native(handle_, &sized);
    if (status < 0) nodes_.pop_back();
    check(status);
  }

  /**
   * Changes a number that an operation uses. Calls synfire_graph_set_value().
   *
   * @param operation The operation's number, from last_operation().
   * @param name      `"value"`, `"scale"`, `"keep"`, `"learning_rate"`, `"seed"` or `"offset"`.
   * @param value     A value that the operation's descriptor allows.
   * @throws error
   */
  void set_value(std::int32_t operation, const char* name, double value) {
    check(synfire_graph_set_value(handle_, operation, name, value));
  }

  /**
   * Enables or disables an operation in later replays. Calls synfire_graph_set_enabled().
   *
   * @param operation The operation's number; 0 is the operation recorded first.
   * @param enabled   Whether it runs.
   * @throws error
   */
  void set_enabled(std::int32_t operation, bool enabled) {
    check(synfire_graph_set_enabled(handle_, operation, enabled ? 1 : 0));
  }

  /**
   * Replaces one buffer of the graph with another one. Calls synfire_graph_rebind().
   *
   * @param before A buffer that an operation of the graph reads or writes.
   * @param now    A buffer of the same dtype, size, kind of memory and row pitch.
   * @throws error, or what a native node threw.
   */
  void rebind(const Buffer& before, const Buffer& now) {
    check_nodes([&] { return synfire_graph_rebind(handle_, before, now); });
  }

  /**
   * Returns the memory of a pinned buffer that the host may access. Calls synfire_graph_get_slot().
   *
   * @param ticket A ticket that launch() returned, or 0 for the next launch.
   * @param buffer A pinned buffer that the graph was recorded with.
   * @return Its address and size; null while the replay that has the slot is in flight.
   * @throws error
   */
  synfire_memory slot(Ticket ticket, const Buffer& buffer) const {
    synfire_memory memory = {nullptr, 0};
    check(synfire_graph_get_slot(handle_, ticket, buffer, &memory.data, &memory.bytes));
    return memory;
  }

  /**
   * The graph as text in the DOT language. Calls synfire_graph_write_dot().
   *
   * @return The whole text.
   * @throws error
   */
  std::string dot() const {
    return detail::written(
        [&](char* text, std::uint64_t* bytes) { return synfire_graph_write_dot(handle_, text, bytes); });
  }

  /**
   * Reports how many replays there were, how many waits were late, and how long replays took. Calls
   * synfire_graph_get_statistics().
   *
   * @return Counts and times since the graph was created or its statistics were reset.
   * @throws error
   */
  synfire_graph_statistics statistics() const {
    synfire_graph_statistics answer = detail::empty<synfire_graph_statistics>();
    answer.struct_size = static_cast<std::uint32_t>(sizeof answer);
    check(synfire_graph_get_statistics(handle_, &answer));
    return answer;
  }

  /**
   * Resets the statistics. Calls synfire_graph_reset_statistics().
   *
   * @throws error
   */
  void reset_statistics() { check(synfire_graph_reset_statistics(handle_)); }

  /**
   * The number of the operation recorded last. Calls synfire_graph_get_last_operation().
   *
   * @return 0 for the first operation, 1 for the second, and so on.
   * @throws error
   */
  std::int32_t last_operation() const {
    std::int32_t operation = 0;
    check(synfire_graph_get_last_operation(handle_, &operation));
    return operation;
  }

  /**
   * Prepares the recorded list for replay: everything slow happens here. Calls synfire_graph_instantiate().
   *
   * @throws error, or what a native node threw.
   */
  void instantiate() {
    check_nodes([&] { return synfire_graph_instantiate(handle_); });
  }

  /**
   * Replays the graph once. Calls synfire_graph_launch().
   *
   * @param stream The stream; null is the context's own.
   * @return The ticket of this replay; 0 if the caller is capturing the stream and the graph became part of that
   * capture.
   * @throws error, or what a native node threw.
   */
  Ticket launch(synfire_stream stream = nullptr) {
    Ticket ticket = 0;
    check_nodes([&] { return synfire_graph_launch(handle_, stream, &ticket); });
    return ticket;
  }

  /**
   * Waits until a replay is done, however long that takes. Calls synfire_graph_wait() with a negative time-out.
   *
   * @param ticket A ticket that launch() returned.
   * @param policy How to wait.
   * @throws error, the replay's own.
   */
  void wait(Ticket ticket, WaitPolicy policy = WaitPolicy::spin) const {
    check(synfire_graph_wait(handle_, ticket, static_cast<std::int32_t>(policy), -1));
  }

  /**
   * Waits for a replay, but not longer than a time-out. Calls synfire_graph_wait().
   *
   * @param ticket  A ticket that launch() returned.
   * @param timeout The longest wait; 0 or less, as for a deadline that has passed, checks once.
   * @param policy  How to wait.
   * @return Whether the replay is done.
   * @throws error, the replay's own.
   */
  template <class Rep, class Period>
  [[nodiscard]] Waited wait(Ticket ticket, std::chrono::duration<Rep, Period> timeout,
                            WaitPolicy policy = WaitPolicy::spin) const {
    return detail::waited(
        synfire_graph_wait(handle_, ticket, static_cast<std::int32_t>(policy), detail::timeout_ns(timeout)));
  }

  /**
   * Checks whether a replay is done. Never blocks. Calls synfire_graph_poll().
   *
   * @param ticket A ticket that launch() returned.
   * @return Whether the replay is done.
   * @throws error, the replay's own.
   */
  [[nodiscard]] Waited poll(Ticket ticket) const { return detail::waited(synfire_graph_poll(handle_, ticket)); }

 private:
  // Like check(), for calls that may run native nodes.
  template <class Call>
  void check_nodes(Call call) {
    if (!nodes_.empty()) detail::thrown() = nullptr;  // left by a call of the C ABI
    const synfire_status status = call();
    if (status == SYNFIRE_ERROR_CALLBACK && !nodes_.empty() && detail::thrown())
      std::rethrow_exception(std::exchange(detail::thrown(), nullptr));
    check(status);
  }

  std::vector<std::unique_ptr<detail::NativeNode>> nodes_;
};

// ---- generated from synfire.h by bindings/cpp/generate.py: begin later members

inline Graph Network::graph(std::int32_t kind) const {
  synfire_graph graph = nullptr;
  check(synfire_network_get_graph(handle_, kind, &graph));
  return Graph(graph);
}

// ---- generated from synfire.h by bindings/cpp/generate.py: end later members

/** @} */

}  // namespace synfire

/** @cond DETAIL */
#if defined(__cpp_lib_span) && defined(__cpp_lib_ranges)
template <class T>
inline constexpr bool std::ranges::enable_borrowed_range<synfire::View<T>> = true;
template <class T>
inline constexpr bool std::ranges::enable_view<synfire::View<T>> = true;
#endif
/** @endcond */

#endif  // SYNFIRE_SYNFIRE_HPP
