// A data set in files: some windows of its rows are in memory, in arrays that the graph of the data reads, with the
// places of the rows of the next batches. If ranks share the batches, these are the rows that this one has.
#ifndef SYNFIRE_NETWORK_DATA_STREAM_HPP
#define SYNFIRE_NETWORK_DATA_STREAM_HPP

#include "data_files.hpp"
#include "read_ahead.hpp"
#include "row_order.hpp"

#include <base/function_ref.hpp>

#include <deque>
#include <memory>
#include <optional>
#include <span>

namespace synfire::network {

struct DataSet;

// The program's choices; 0: the default.
struct StreamRules {
  uint32_t n_readers;
  uint64_t block_rows, window_blocks;

  // Throws INVALID_ARGUMENT.
  explicit StreamRules(const synfire_network_data_desc& desc);
};

class DataStream final : private BlockSource {
 public:
  // Fills in the data set with its arrays. Throws INVALID_ARGUMENT or OUT_OF_MEMORY.
  DataStream(core::Context& context, const Design& design, const DataFiles& files, const StreamRules& rules,
             bool in_order, DataSet& data);
  DataStream(const DataStream&) = delete;
  DataStream& operator=(const DataStream&) = delete;

  // The batches of a call follow, from this one on. Training: counted from the beginning of epoch 0.
  void begin(uint64_t batch, uint64_t seed);
  // Before launch 0, 1, 2 ... of the call, with the number that its graph counts: the rows of the next batch are in
  // memory then, and the graph finds them. `wait` returns when a launch of the call, and all before it, are done.
  // Throws if rows of this batch cannot be read; the next call begins with it.
  void provide(uint64_t number, uint64_t launch, core::FunctionRef<void(uint64_t)> wait);

 private:
  // Windows before `end` are needed until as many launches of the call are done.
  struct Used {
    uint64_t end, n_launches;
  };

  uint32_t blocks_of(uint64_t window) const noexcept override;
  void read(const BlockNumber& number) override;
  uint64_t epoch_of(uint64_t window) const noexcept { return first_epoch_ + window / order_.n_windows(); }
  uint32_t in_epoch(uint64_t window) const noexcept { return static_cast<uint32_t>(window % order_.n_windows()); }
  // A single window stays where it is, in all epochs.
  uint64_t in_ring(uint64_t window) const noexcept { return order_.n_windows() == 1 ? 0 : window; }
  void seek(uint64_t batch, uint64_t seed);
  void go_to(uint64_t window);
  void release_done(uint64_t n_done);
  // True if this rank has the row.
  bool is_needed(uint64_t row_in_epoch) const noexcept;
  void read_rows(int64_t first_row, int64_t n_rows, uint64_t place) const;
  void read_array(const DataFiles::Array& array, const Ref<Buffer>& memory, int64_t first_row, int64_t n_rows,
                  uint64_t place) const;

  core::Context& context_;
  const Design design_;  // as it was when the data were set: reading goes on between the program's calls
  const DataFiles files_;
  const RowOrder order_;
  const uint64_t batch_, n_batches_;            // rows of a batch, and batches of an epoch
  const uint64_t first_of_rank_, end_of_rank_;  // in a batch
  const bool in_order_;
  std::vector<Ref<Buffer>> arrays_;  // windows of rows
  Ref<Buffer> lengths_, sample_weights_;
  uint32_t* indices_;   // [n_prepared, B]: the rows of the batches that come next
  uint32_t* n_active_;  // [n_prepared]
  uint32_t n_prepared_, n_windows_;

  // The place in the training, or in the evaluations so far.
  uint64_t seed_ = 0, first_epoch_ = 0, next_batch_ = 0;
  bool is_lost_ = true;  // nothing is read ahead for `next_batch_`
  uint64_t window_ = 0;  // of the row that comes next
  RowWindow rows_;
  std::optional<RowOrder::Rows> places_;  // of them
  std::deque<Used> used_;                 // before `window_`, and not released yet

  std::unique_ptr<ReadAhead> ahead_;  // last: its threads use the rest
};

}  // namespace synfire::network

#endif
