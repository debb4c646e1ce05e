#include "data_checks.hpp"

#include <base/dtype.hpp>
#include <base/error.hpp>
#include <base/host_memory.hpp>
#include <operations/replace_nonfinite/finite.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace synfire::network {

using namespace synfire::core;

namespace {

// ---- elements -------------------------------------------------------------------------------------------------------

// The elements that an array may hold, by their bits: comparing numbers could trap.
struct Allowed {
  enum class Kind { any, labels, spikes, rates, finite };
  Kind kind = Kind::any;
  bool or_not_finite = false;  // too
  uint64_t n_classes = 0;      // of labels
  bool has_ignored = false;    // one more label
  uint64_t ignored = 0;
};

template <class Word>
class Test {
 public:
  Test(const Allowed& allowed, int32_t dtype)
      : allowed_(allowed),
        one_(static_cast<Word>(element_bits(dtype, 1))),
        exponent_(static_cast<Word>(operations::exponent_bits(dtype))) {}

  // The first element from `begin` on that is not allowed, or `end`.
  int64_t first_refused(const char* elements, int64_t begin, int64_t end) const {
    switch (allowed_.kind) {
      case Allowed::Kind::labels:
        return find(elements, begin, end, [this](Word bits) {
          return bits < allowed_.n_classes || (allowed_.has_ignored && bits == allowed_.ignored);
        });
      case Allowed::Kind::spikes:
        return find(elements, begin, end,
                    [this](Word bits) { return is_zero(bits) || bits == one_ || is_allowed_anyway(bits); });
      case Allowed::Kind::rates:
        return find(elements, begin, end,
                    [this](Word bits) { return is_zero(bits) || bits <= one_ || is_allowed_anyway(bits); });
      case Allowed::Kind::finite:
        return find(elements, begin, end, [this](Word bits) { return operations::is_finite(bits, exponent_); });
      case Allowed::Kind::any:
        break;
    }
    return end;
  }

 private:
  // Bytes have no sign, and nothing to shift out but what makes them more than 1.
  static bool is_zero(Word bits) {
    if constexpr (sizeof(Word) == 1)
      return bits == 0;
    else
      return static_cast<Word>(bits << 1) == 0;
  }
  bool is_allowed_anyway(Word bits) const {
    return sizeof(Word) > 1 && allowed_.or_not_finite && !operations::is_finite(bits, exponent_);
  }

  // Whole blocks are tested without a branch, so that the compiler can vectorise it.
  template <class Fits>
  static int64_t find(const char* elements, int64_t begin, int64_t end, Fits fits) {
    constexpr int64_t block = 1024;
    const auto at = [elements](int64_t i) {
      Word bits;
      std::memcpy(&bits, elements + i * static_cast<int64_t>(sizeof bits), sizeof bits);
      return bits;
    };
    for (int64_t first = begin; first < end; first += block) {
      const int64_t last = std::min(first + block, end);
      bool all_fit = true;
      for (int64_t i = first; i < last; ++i) all_fit &= fits(at(i));
      if (all_fit) continue;
      for (int64_t i = first; i < last; ++i)
        if (!fits(at(i))) return i;
    }
    return end;
  }

  const Allowed allowed_;
  const Word one_, exponent_;
};

int64_t first_refused(const Allowed& allowed, int32_t dtype, const char* elements, int64_t begin, int64_t end) {
  switch (bytes_of_dtype(dtype)) {
    case 1:
      return Test<uint8_t>(allowed, dtype).first_refused(elements, begin, end);
    case 2:
      return Test<uint16_t>(allowed, dtype).first_refused(elements, begin, end);
    case 4:
      return Test<uint32_t>(allowed, dtype).first_refused(elements, begin, end);
    default:
      return Test<uint64_t>(allowed, dtype).first_refused(elements, begin, end);
  }
}

// ---- reading --------------------------------------------------------------------------------------------------------

// Reads an array piece by piece: where it is, or copies of what only the device can access.
class Reader {
 public:
  explicit Reader(const Buffer& buffer)
      : buffer_(buffer), element_(static_cast<int64_t>(bytes_of_dtype(buffer.dtype()))) {
    const Context& context = *buffer.context();
    if (!context.device().is_host() && buffer.view().memory == SYNFIRE_MEMORY_DEVICE) copy_.resize(piece_bytes);
  }
  // How many elements one piece has.
  int64_t length() const noexcept { return static_cast<int64_t>(piece_bytes) / element_; }
  const char* read(int64_t first, int64_t count) {
    const int64_t offset = first * element_;
    if (copy_.empty()) return static_cast<const char*>(buffer_.view().data) + offset;
    buffer_.download(static_cast<uint64_t>(offset), copy_.data(), static_cast<uint64_t>(count * element_));
    return copy_.data();
  }

 private:
  static constexpr size_t piece_bytes = size_t{4} << 20;
  const Buffer& buffer_;
  const int64_t element_;
  std::vector<char> copy_;
};

// The lengths of the rows, or none.
std::vector<uint32_t> lengths_of(const Buffer* lengths, int64_t n_rows) {
  std::vector<uint32_t> values;
  if (!lengths) return values;
  const uint64_t bytes = static_cast<uint64_t>(n_rows) * sizeof(uint32_t);
  require_host_memory(bytes, Paging::pageable);
  values.resize(static_cast<size_t>(n_rows));
  lengths->download(0, values.data(), bytes);
  return values;
}

// ---- arrays ---------------------------------------------------------------------------------------------------------

struct Place {
  int64_t row, step, element;  // in the row
};

// Calls refuse(place, bits) for the first element that is not allowed. `lengths` is empty where all steps count.
template <class Refuse>
void check_array(const Buffer& buffer, const RowShape& row, int64_t n_rows, const std::vector<uint32_t>& lengths,
                 const Allowed& allowed, Refuse refuse) {
  if (allowed.kind == Allowed::Kind::any) return;
  const int64_t width = row.stored_width(), per_row = row.stored_steps() * width, total = n_rows * per_row;
  const auto element = static_cast<int64_t>(bytes_of_dtype(row.dtype));
  Reader reader(buffer);
  for (int64_t first = 0; first < total; first += reader.length()) {
    const int64_t last = std::min(first + reader.length(), total);
    const char* const piece = reader.read(first, last - first);
    for (int64_t begin = first; begin < last;) {
      // The elements that count: of all rows, or of this one.
      int64_t end = last, next = last;
      if (!lengths.empty()) {
        const int64_t r = begin / per_row, n_steps = lengths[static_cast<size_t>(r)];
        next = std::min((r + 1) * per_row, last);
        end = std::clamp(r * per_row + std::min(n_steps, row.stored_steps()) * width, begin, next);
      }
      const int64_t at = first + first_refused(allowed, row.dtype, piece, begin - first, end - first);
      if (at < end) {
        uint64_t bits = 0;
        std::memcpy(&bits, piece + (at - first) * element, static_cast<size_t>(element));
        const int64_t in_row = at % per_row;
        refuse(Place{at / per_row, in_row / width, in_row % width}, bits);
      }
      begin = next;
    }
  }
}

double number_of(int32_t dtype, uint64_t bits) {
  switch (dtype) {
    case SYNFIRE_DTYPE_F64:
      return std::bit_cast<double>(bits);
    case SYNFIRE_DTYPE_F32:
      return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    case SYNFIRE_DTYPE_BF16:
      return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits << 16)));
    case SYNFIRE_DTYPE_F16: {
      const auto fraction = static_cast<double>(bits & 0x3FF);
      const int exponent = static_cast<int>(bits >> 10 & 31);
      const double magnitude = exponent == 31  ? (fraction != 0 ? std::nan("") : HUGE_VAL)
                               : exponent == 0 ? std::ldexp(fraction, -24)
                                               : std::ldexp(fraction + 1024, exponent - 25);
      return (bits & 0x8000) != 0 ? -magnitude : magnitude;
    }
    default:
      return static_cast<double>(bits);
  }
}

// "inputs has 0.5 in row 3, step 0, element 17".
std::string found_text(const char* name, const RowShape& row, const Place& place, uint64_t bits) {
  char text[160];
  const double number = number_of(row.dtype, bits);
  int length =
      std::snprintf(text, sizeof text, "%s has %.10g in row %lld", name, number, static_cast<long long>(place.row));
  const auto append = [&](const char* what, int64_t index) {
    length += std::snprintf(text + length, sizeof text - static_cast<size_t>(length), ", %s %lld", what,
                            static_cast<long long>(index));
  };
  if (row.n_steps > 1) append("step", place.step);
  if (row.width > 1) append("element", place.element);
  return text;
}

// ---- what each array may hold -----------------------------------------------------------------------------------

class Checks {
 public:
  Checks(const Design& design, int64_t n_rows, const Buffer* lengths)
      : design_(design), n_rows_(n_rows), lengths_(lengths_of(lengths, n_rows)) {}

  void check_inputs(const Buffer& inputs) const {
    const Stage& stage = design_.input();
    if (stage.flag("any_number")) return;
    const RowShape row = input_row(design_);
    Allowed allowed;
    allowed.or_not_finite = stage.flag("replace_nonfinite");
    const char *rule = "", *needed = "", *otherwise = "";
    switch (stage.choice) {
      case SYNFIRE_NETWORK_INPUT_SPIKES:
        if (is_packed(row.dtype)) return;
        allowed.kind = Allowed::Kind::spikes;
        rule = "SYN-NETWORK-SPIKE";
        needed = "a spike is 1, and no spike is 0";
        otherwise = "all that is not 0 counts as 1";
        break;
      case SYNFIRE_NETWORK_INPUT_RATES:
        allowed.kind = Allowed::Kind::rates;
        rule = "SYN-NETWORK-RATE";
        needed = "rates are from 0 to 1";
        otherwise = "less than 0 and NaN count as 0, more than 1 as 1";
        break;
      default:
        if (allowed.or_not_finite) return;
        allowed.kind = Allowed::Kind::finite;
        rule = "SYN-NETWORK-INPUT";
        needed = "values are finite";
        otherwise = "they are taken as they are, and with \"replace_nonfinite\" they are replaced by 0 and counted";
    }
    check_array(inputs, row, n_rows_, lengths_in(row), allowed, [&](const Place& place, uint64_t bits) {
      fail_argument(rule, "%s; %s (with the value \"any_number\" of stage \"%s\", %s)",
                    found_text("inputs", row, place, bits).c_str(), needed, stage.name.c_str(), otherwise);
    });
  }

  void check_labels(const Buffer& labels) const {
    const Stage& loss = *design_.only(StageKind::loss);
    const RowShape row = label_row(design_);
    Allowed allowed;
    allowed.kind = Allowed::Kind::labels;
    allowed.n_classes = static_cast<uint64_t>(design_.only(StageKind::readout)->width);
    allowed.has_ignored = loss.flag("ignores_label");
    allowed.ignored = static_cast<uint64_t>(loss.value("ignored_label"));
    const std::string also =
        allowed.has_ignored ? ", and " + std::to_string(allowed.ignored) + ", which is ignored" : std::string();
    check_array(labels, row, n_rows_, lengths_in(row), allowed, [&](const Place& place, uint64_t bits) {
      fail_argument("SYN-NETWORK-LABEL", "%s; the labels of %llu classes are 0 to %llu%s",
                    found_text("labels", row, place, bits).c_str(), static_cast<unsigned long long>(allowed.n_classes),
                    static_cast<unsigned long long>(allowed.n_classes - 1), also.c_str());
    });
  }

  void check_targets(const Buffer& targets) const {
    check_finite(targets, "targets", "SYN-NETWORK-TARGET", target_row(design_));
  }
  void check_weights(const Buffer& weights) const {
    check_finite(weights, "sample_weights", "SYN-NETWORK-WEIGHT", weight_row());
  }

 private:
  const std::vector<uint32_t>& lengths_in(const RowShape& row) const { return row.has_lengths ? lengths_ : none_; }

  void check_finite(const Buffer& array, const char* name, const char* rule, const RowShape& row) const {
    const Stage& loss = *design_.only(StageKind::loss);
    if (loss.flag("any_number")) return;
    Allowed allowed;
    allowed.kind = Allowed::Kind::finite;
    check_array(array, row, n_rows_, lengths_in(row), allowed, [&](const Place& place, uint64_t bits) {
      fail_argument(rule, "%s; it must be finite, or the value \"any_number\" of stage \"%s\" be 1",
                    found_text(name, row, place, bits).c_str(), loss.name.c_str());
    });
  }

  const Design& design_;
  const int64_t n_rows_;
  const std::vector<uint32_t> lengths_, none_;
};

}  // namespace

void check_elements(const Design& design, int64_t n_rows, const DataArrays& arrays) {
  const Checks checks(design, n_rows, arrays.lengths);
  if (arrays.labels) checks.check_labels(*arrays.labels);
  if (arrays.targets) checks.check_targets(*arrays.targets);
  checks.check_inputs(*arrays.inputs);
  if (arrays.sample_weights) checks.check_weights(*arrays.sample_weights);
}

}  // namespace synfire::network
