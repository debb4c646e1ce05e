// Numbers for ranges of one operation that run at once, as low as possible, so that memory in use is mostly cached.
#ifndef SYNFIRE_BACKENDS_HOST_PLACES_HPP
#define SYNFIRE_BACKENDS_HOST_PLACES_HPP

#include "host_device.hpp"

#include <atomic>
#include <bit>
#include <cstdint>

namespace synfire::host {

class Places {
 public:
  // n_places: at least the number of ranges that run at once, at most 4 max_threads.
  explicit Places(int64_t n_places) noexcept : n_places_(n_places) {}

  // Takes a place until the end of its scope. Neither locks nor waits for another thread's work.
  class Taken {
   public:
    explicit Taken(Places& places) noexcept : places_(places), number_(places.take()) {}
    ~Taken() { places_.give_back(number_); }
    Taken(const Taken&) = delete;
    Taken& operator=(const Taken&) = delete;
    int64_t number() const noexcept { return number_; }

   private:
    Places& places_;
    const int64_t number_;
  };

 private:
  // One is always free. If others take and give back meanwhile, it looks again from the start.
  int64_t take() noexcept {
    for (int64_t word = 0;;) {
      const int bit = std::countr_one(words_[word].load(std::memory_order_relaxed));
      if (bit < 64 && 64 * word + bit < n_places_) {
        const uint64_t mask = uint64_t{1} << bit;
        if (!(words_[word].fetch_or(mask, std::memory_order_acquire) & mask)) return 64 * word + bit;
      }
      word = bit == 64 && 64 * (word + 1) < n_places_ ? word + 1 : 0;
    }
  }
  void give_back(int64_t number) noexcept {
    words_[number / 64].fetch_and(~(uint64_t{1} << number % 64), std::memory_order_release);
  }

  static constexpr int64_t n_words = int64_t{4} * max_threads / 64;  // a bit for each block of a call
  const int64_t n_places_;
  std::atomic<uint64_t> words_[n_words] = {};
};

}  // namespace synfire::host

#endif
