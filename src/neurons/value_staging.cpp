#include "value_staging.hpp"

#include <base/wait_until.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>

namespace synfire::core {

ValueStaging::ValueStaging(Device& device, int64_t n_neurons)
    : device_(device),
      bytes_(static_cast<uint64_t>(n_neurons) * sizeof(double)),
      read_number_(static_cast<uint64_t*>(device.allocate(SYNFIRE_MEMORY_PINNED, sizeof(uint64_t)))) {}

ValueStaging::~ValueStaging() {
  for (const Rows& rows : rows_) {
    if (rows.next) device_.release(SYNFIRE_MEMORY_PINNED, rows.next);
    for (size_t i = 0; i < rows.n_sent; ++i) device_.release(SYNFIRE_MEMORY_PINNED, rows.sent[i].row);
  }
  device_.release(SYNFIRE_MEMORY_PINNED, read_number_);
}

bool ValueStaging::is_read(const Sent& sent) const noexcept {
  return sent.number <= std::atomic_ref(*read_number_).load(std::memory_order_acquire);
}

void ValueStaging::prepare(uint32_t parameter) {
  Rows& rows = rows_[parameter];
  if (rows.next) return;
  if (rows.n_sent == 0 || (!is_read(rows.sent[0]) && rows.n_sent < most_rows)) {
    rows.next = static_cast<double*>(device_.allocate(SYNFIRE_MEMORY_PINNED, bytes_));
    return;
  }
  wait_until([&] { return is_read(rows.sent[0]); }, [&] { device_.check(); });
  rows.next = rows.sent[0].row;
  std::move(rows.sent.begin() + 1, rows.sent.begin() + static_cast<std::ptrdiff_t>(rows.n_sent), rows.sent.begin());
  --rows.n_sent;
}

void ValueStaging::write(uint32_t parameter, std::span<const double> values) noexcept {
  auto* const row = reinterpret_cast<char*>(rows_[parameter].next);
  for (uint64_t at = 0; at < bytes_; at += values.size_bytes())
    std::memcpy(row + at, values.data(), values.size_bytes());
}

void ValueStaging::sent(uint32_t parameters) noexcept {
  ++n_sent_;
  for (uint32_t p = 0; p < rows_.size(); ++p) {
    Rows& rows = rows_[p];
    if ((parameters >> p & 1u) == 0) continue;
    rows.sent[rows.n_sent++] = {rows.next, n_sent_};
    rows.next = nullptr;
  }
}

}  // namespace synfire::core
