// Transfers per-neuron values of parameters to the device. The host writes rows in page-locked memory, which a kernel
// reads in stream order. Newer values go to another row, so setting waits for neither replays in flight nor copies.
#ifndef SYNFIRE_NEURONS_VALUE_STAGING_HPP
#define SYNFIRE_NEURONS_VALUE_STAGING_HPP

#include <base/device.hpp>

#include <synfire/model/layout.hpp>

#include <array>

namespace synfire::core {

class ValueStaging {
 public:
  static constexpr size_t most_rows = 8;

  ValueStaging(Device& device, int64_t n_neurons);
  ~ValueStaging();
  ValueStaging(const ValueStaging&) = delete;
  ValueStaging& operator=(const ValueStaging&) = delete;

  // Provides a row for the next values of a parameter, which no kernel will read again. Waits for the device if
  // most_rows are in flight. Throws OUT_OF_MEMORY and DEVICE_LOST.
  void prepare(uint32_t parameter);
  // Fills the prepared row, which the next kernel reads; values by channel are repeated.
  void write(uint32_t parameter, std::span<const double> values) noexcept;
  // The prepared row, or null.
  const double* row(uint32_t parameter) const noexcept { return rows_[parameter].next; }

  // The number of the next kernel, and the address where it reports that it has read its rows. Numbers only grow.
  uint64_t number() const noexcept { return n_sent_ + 1; }
  uint64_t* read_number() const noexcept { return read_number_; }
  // The kernel was launched with the rows of these parameters (a bit for each).
  void sent(uint32_t parameters) noexcept;

 private:
  struct Sent {
    double* row;
    uint64_t number;  // of the kernel that reads it
  };
  struct Rows {
    double* next = nullptr;
    std::array<Sent, most_rows> sent = {};  // in the order in which they were launched
    size_t n_sent = 0;
  };

  bool is_read(const Sent& sent) const noexcept;

  Device& device_;
  const uint64_t bytes_;
  std::array<Rows, model::max_parameters> rows_;
  uint64_t n_sent_ = 0;
  uint64_t* read_number_;
};

}  // namespace synfire::core

#endif
