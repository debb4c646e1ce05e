// A sum over the per-neuron gradients that a backward left: of integers in f32 (operations/row_sums), in a fixed order
// (model/reduction.hpp) in f64.
#ifndef SYNFIRE_NEURONS_SUM_GRADIENT_SUM_GRADIENT_HPP
#define SYNFIRE_NEURONS_SUM_GRADIENT_SUM_GRADIENT_HPP

#include <operations/kind.hpp>
#include <operations/row_sums/row_sums.hpp>

namespace synfire::operations {

enum class SumKind : int32_t {
  rows,    // f64 [B, N], each rounded to f32, to f32 [E]
  batch,   // f64 [B, N] to f64 [N], over the batch rows; with channels, f64 [B * N / C, C] to f64 [C]
  chunks,  // f64 [n] to f64 [ceil(n/reduction_chunk)]
  total,   // f64 [n] to f64 [1]
};

struct SumGradient {
  SumKind sum;
  View input;
  int64_t batch;  // B for rows and batch, else 1
  int64_t count;  // N for rows and batch, else n
  View output;
  int32_t gradient = -1;  // the number of the gradient that it is part of
  const int64_t* active =
      nullptr;       // in device memory: how many inputs, from the first on, are summed at most; null: all
  bool add = false;  // to what the output holds, in f64; not for chunks
  // SumKind::rows has these too.
  int64_t n_entries = 0;
  SumEntry entry = SumEntry::all;
  View largest = {}, totals = {};  // the arrays between the entries; absent with SumEntry::all
  View scratch = {};               // of SumEntry::all
  bool has_scratch = false;        // the caller's; else a replay or an eager call gives the memory

  static constexpr const char* name = "sum of gradients";
  static void operands(SumGradient& op, OperandVisitor visit) {
    if (op.entry != SumEntry::finish) visit({"the layer's sums of gradients", op.input, Access::read});
    if (op.sum == SumKind::rows) {
      visit({"the largest of the gradients", op.largest, access_of_maxima(op.entry)});
      visit({"the sums of the gradients", op.totals, access_of_sums(op.entry)});
      visit({"scratch memory", op.scratch, op.has_scratch ? Access::write : Access::scratch});
    }
    if (!does(op.entry, SumEntry::finish)) return;
    visit({"desc.parameter_gradients[].gradient", op.output, op.add ? Access::update : Access::write, Transfer::staged,
           nullptr, false, op.gradient});
  }
};
inline OperationLabel label(const SumGradient&) {
  return {};
}
inline bool wants_threads(const SumGradient&) {
  return false;
}
void run(const SumGradient& op, host::Launcher& launcher);
cuda::Hints hints(const SumGradient& op, const cuda::GpuShape& gpu);
void enqueue(const SumGradient& op, cuda::Launcher& launcher);

inline RowSums row_sums_of(const SumGradient& op) {
  RowSums sums = {};
  sums.shape = {op.batch, op.count, op.n_entries};
  sums.layer_active = op.active;
  sums.contributions = op.input.data;
  sums.wide = true;
  sums.output = static_cast<float*>(op.output.data);
  sums.add = op.add;
  sums.adds_in_f64 = true;
  if (op.entry == SumEntry::all) {
    place_row_sums(sums, op.scratch.data);
  } else {
    sums.largest = static_cast<uint32_t*>(op.largest.data);
    sums.totals = static_cast<int64_t*>(op.totals.data);
  }
  return sums;
}

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(SumGradient);

#endif
