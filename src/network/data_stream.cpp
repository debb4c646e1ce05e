#include "data_stream.hpp"

#include "data_checks.hpp"
#include "data_set.hpp"
#include "rank_rows.hpp"

#include <base/error.hpp>

#include <algorithm>

namespace synfire::network {

using namespace synfire::core;

namespace {

constexpr uint64_t block_bytes = uint64_t{1} << 20;
constexpr uint64_t gap_bytes = 4096;  // a disk reads as many at once
constexpr uint64_t default_window_blocks = 32;
// A GPU may have this many replays before it, whose rows are known.
constexpr uint32_t most_prepared = 4;

uint64_t bytes_per_row(const DataFiles& files) {
  uint64_t bytes = 0;
  const auto add = [&](const DataFiles::Array& array) {
    if (!array.pieces.empty()) bytes += array.row.bytes();
  };
  for (const DataFiles::Array& array : files.arrays()) add(array);
  add(files.lengths());
  add(files.sample_weights());
  return bytes;
}

RowOrder order_of(const DataFiles& files, const StreamRules& rules, bool in_order) {
  const uint64_t default_rows = std::max<uint64_t>(1, block_bytes / bytes_per_row(files));
  return {static_cast<uint64_t>(files.n_rows()), rules.block_rows == 0 ? default_rows : rules.block_rows,
          rules.window_blocks == 0 ? default_window_blocks : rules.window_blocks, in_order};
}

// Threads that read: none where the program has no threads of the library. (A job system computes more parts at once
// than the context has threads.)
uint32_t readers_of(const Device& device, const StreamRules& rules) {
  constexpr uint32_t default_readers = 2;
  if (rules.n_readers != 0) return rules.n_readers;
  synfire_context_properties properties = SYNFIRE_CONTEXT_PROPERTIES_INIT;
  device.describe(properties);
  const bool has_threads =
      !device.is_host() || (properties.n_threads > 1 && device.most_at_once() == properties.n_threads);
  return has_threads ? default_readers : 0;
}

// A batch has rows of as many windows as it fills, rounded up, of one more where it begins within a window, and of
// another one if the last block makes a window smaller; if not, that is read meanwhile. Of a single window, all is in
// memory.
uint32_t windows_in_memory(const RowOrder& order, uint64_t batch) {
  if (order.n_windows() == 1) return 1;
  const uint64_t filled = (std::min(batch, order.n_rows()) + order.window_rows() - 1) / order.window_rows();
  return static_cast<uint32_t>(std::min<uint64_t>(filled + 2, uint64_t{order.n_windows()} + 2));
}

// All of them, without ranks.
RankRows own_rows(const NetworkRules& rules) {
  return rules.ranks ? rows_of_rank(rules.ranks->place(), rules.batch) : RankRows{0, rules.batch};
}

void check_memory_rows(uint64_t n_rows, const RowShape& row) {
  constexpr uint64_t most_rows = 0xFFFFFFFF, most_bytes = uint64_t{1} << 62;
  uint64_t bytes = 0;
  if (n_rows > most_rows || __builtin_mul_overflow(n_rows, row.bytes(), &bytes) || bytes > most_bytes)
    fail(SYNFIRE_ERROR_OUT_OF_MEMORY, "SYN-NETWORK-OVERFLOW",
         "the windows in memory would have %llu rows; as many cannot be addressed",
         static_cast<unsigned long long>(n_rows));
}

}  // namespace

StreamRules::StreamRules(const synfire_network_data_desc& desc)
    : n_readers(desc.n_readers),
      block_rows(static_cast<uint64_t>(desc.block_rows)),
      window_blocks(static_cast<uint64_t>(desc.window_blocks)) {
  constexpr int64_t most_rows = 0xFFFFFFFF;
  const auto check = [&](const char* name, int64_t value, int64_t most) {
    if (value < 0 || value > most)
      fail_argument("SYN-NETWORK-DATA", "desc.%s is %lld; 0 to %lld are allowed (0: the default)", name,
                    static_cast<long long>(value), static_cast<long long>(most));
  };
  check("n_readers", int64_t{desc.n_readers}, ReadAhead::most_threads);
  check("block_rows", desc.block_rows, most_rows);
  check("window_blocks", desc.window_blocks, most_rows);
}

DataStream::DataStream(Context& context, const Design& design, const DataFiles& files, const StreamRules& rules,
                       bool in_order, DataSet& data)
    : context_(context),
      design_(design),
      files_(files),
      order_(order_of(files, rules, in_order)),
      batch_(static_cast<uint64_t>(design.rules().batch)),
      n_batches_(std::max<uint64_t>(1, !in_order && design.rules().drop_last
                                           ? order_.n_rows() / batch_
                                           : (order_.n_rows() + batch_ - 1) / batch_)),
      first_of_rank_(static_cast<uint64_t>(own_rows(design.rules()).first)),
      end_of_rank_(first_of_rank_ + static_cast<uint64_t>(own_rows(design.rules()).count)),
      in_order_(in_order),
      n_prepared_(context.device().is_host() ? 1 : most_prepared),
      n_windows_(windows_in_memory(order_, batch_)) {
  if (!in_order && design.rules().drop_last && batch_ > order_.n_rows())
    fail_argument("SYN-NETWORK-DATA",
                  "the files have %llu rows, and a batch %llu; with drop_last an epoch would have no batch",
                  static_cast<unsigned long long>(order_.n_rows()), static_cast<unsigned long long>(batch_));
  const uint64_t n_rows = n_windows_ * order_.window_rows();
  const int32_t memory = context.device().is_host() ? SYNFIRE_MEMORY_DEVICE : SYNFIRE_MEMORY_PINNED;
  const auto make = [&](const RowShape& row) {
    check_memory_rows(n_rows, row);
    return make_rows(context, row, static_cast<int64_t>(n_rows), memory);
  };
  for (const DataFiles::Array& array : files_.arrays()) arrays_.push_back(make(array.row));
  if (!files_.lengths().pieces.empty()) lengths_ = make(files_.lengths().row);
  if (!files_.sample_weights().pieces.empty()) sample_weights_ = make(files_.sample_weights().row);
  data.n_rows = files_.n_rows();
  data.arrays = arrays_;
  data.lengths = lengths_;
  data.sample_weights = sample_weights_;
  data.n_in_memory = static_cast<int64_t>(n_rows);
  data.n_prepared = n_prepared_;
  data.blocks = in_order ? RowBlocks{} : order_.blocks();
  data.indices = make_rows(context, {SYNFIRE_DTYPE_U32, 1, design.rules().batch}, n_prepared_, memory);
  data.n_active = make_rows(context, {SYNFIRE_DTYPE_U32, 1, 1}, n_prepared_, memory);
  data.drawn = make_rows(context, {SYNFIRE_DTYPE_U32, 1, 1}, 1, SYNFIRE_MEMORY_DEVICE);
  indices_ = static_cast<uint32_t*>(data.indices->view().data);
  n_active_ = static_cast<uint32_t*>(data.n_active->view().data);
  BlockSource& source = *this;
  ahead_ = std::make_unique<ReadAhead>(source, n_windows_, order_.window_blocks(), readers_of(context.device(), rules));
}

// ---- reading, on any thread -----------------------------------------------------------------------------------------

uint32_t DataStream::blocks_of(uint64_t window) const noexcept {
  return order_.blocks_of_window(in_epoch(window));
}

void DataStream::read_array(const DataFiles::Array& array, const Ref<Buffer>& memory, int64_t first_row, int64_t n_rows,
                            uint64_t place) const {
  if (memory)
    DataFiles::read(array, first_row, n_rows, static_cast<char*>(memory->view().data) + place * array.row.bytes());
}

bool DataStream::is_needed(uint64_t row_in_epoch) const noexcept {
  const uint64_t in_batch = row_in_epoch % batch_;
  return row_in_epoch < n_batches_ * batch_ && in_batch >= first_of_rank_ && in_batch < end_of_rank_;
}

// A rank leaves out rows that others have, but not a few between its own, which would make of one read many.
void DataStream::read(const BlockNumber& number) {
  const uint64_t epoch = epoch_of(number.window);
  const uint32_t window = in_epoch(number.window),
                 block = order_.block_at(seed_, epoch, window * order_.window_blocks() + number.block),
                 n_rows = order_.rows_of_block(block);
  const uint64_t first_row = uint64_t{block} * order_.block_rows(),
                 place = ahead_->place_of(number) * order_.block_rows();
  const auto read_part = [&](uint32_t begin, uint32_t end) {
    if (begin < end) read_rows(static_cast<int64_t>(first_row + begin), end - begin, place + begin);
  };
  // A single window stays for other epochs, in which the rank has other rows of it.
  if (end_of_rank_ - first_of_rank_ == batch_ || order_.n_windows() == 1) return read_part(0, n_rows);
  const uint64_t most_between = gap_bytes / bytes_per_row(files_);
  const RowWindow its = order_.window(seed_, epoch, window);
  const RowOrder::Rows rows(order_, seed_, epoch, window, its);
  uint32_t begin = 0, end = 0;  // of the rows that are read together
  for (uint32_t row = 0; row < n_rows; ++row) {
    if (!is_needed(its.first_row + rows.place_of({number.block, row}))) continue;
    if (row - end > most_between) {
      read_part(begin, end);
      begin = end = row;
    }
    if (begin == end) begin = row;
    end = row + 1;
  }
  read_part(begin, end);
}

void DataStream::read_rows(int64_t first_row, int64_t n_rows, uint64_t place) const {
  for (size_t i = 0; i < arrays_.size(); ++i) read_array(files_.arrays()[i], arrays_[i], first_row, n_rows, place);
  read_array(files_.lengths(), lengths_, first_row, n_rows, place);
  read_array(files_.sample_weights(), sample_weights_, first_row, n_rows, place);
  GivenArrays given = {{}, lengths_.get(), sample_weights_.get()};
  for (const Ref<Buffer>& array : arrays_) given.arrays.push_back(array.get());
  check_elements(context_, design_, {n_rows, static_cast<int64_t>(place), first_row, true}, given);
}

// ---- batches --------------------------------------------------------------------------------------------------------

void DataStream::begin(uint64_t batch, uint64_t seed) {
  if (ahead_->is_from_before_fork()) {
    BlockSource& source = *this;
    ahead_ = std::make_unique<ReadAhead>(source, n_windows_, order_.window_blocks(), 0u);
    is_lost_ = true;
  }
  if (in_order_) {
    batch = !is_lost_ && next_batch_ % n_batches_ == 0 ? next_batch_ : 0;
    seed = seed_;
  }
  used_.clear();  // the replays of earlier calls are done
  if (is_lost_ || batch != next_batch_ || seed != seed_)
    seek(batch, seed);
  else
    ahead_->release_before(in_ring(window_));
}

void DataStream::seek(uint64_t batch, uint64_t seed) {
  ahead_->stop();
  is_lost_ = true;
  seed_ = seed;
  first_epoch_ = batch / n_batches_;
  const uint32_t window = order_.window_at(seed, first_epoch_, batch % n_batches_ * batch_);
  ahead_->begin(in_ring(window));
  go_to(window);
  next_batch_ = batch;
  is_lost_ = false;
}

void DataStream::go_to(uint64_t window) {
  rows_ = order_.window(seed_, epoch_of(window), in_epoch(window));
  places_.emplace(order_, seed_, epoch_of(window), in_epoch(window), rows_);
  window_ = window;
}

void DataStream::release_done(uint64_t n_done) {
  uint64_t end = 0;
  while (!used_.empty() && used_.front().n_launches <= n_done) {
    end = used_.front().end;
    used_.pop_front();
  }
  ahead_->release_before(in_ring(end));
}

void DataStream::provide(uint64_t number, uint64_t launch, FunctionRef<void(uint64_t)> wait) {
  if (launch >= n_prepared_) {
    wait(launch - n_prepared_);
    release_done(launch - n_prepared_ + 1);
  }
  const uint64_t prepared = number % n_prepared_, of_batch = next_batch_ % n_batches_ * batch_,
                 first_row = std::min(of_batch + first_of_rank_, order_.n_rows()),
                 end_row = std::min(of_batch + end_of_rank_, order_.n_rows());
  uint32_t* const indices = indices_ + prepared * batch_;
  n_active_[prepared] = static_cast<uint32_t>(end_row - first_row);
  is_lost_ = true;  // unless the end is reached
  uint64_t of_window = first_row;
  const auto make_room_for = [&](uint64_t window) {
    if (ahead_->has_room(in_ring(window))) return;
    if (launch > 0) wait(launch - 1);
    release_done(launch);
  };
  // To the next window. Nobody has waited for blocks without rows that are needed: those of other ranks, or that
  // drop_last leaves out. Their places are about to be given away.
  const auto leave = [&](uint64_t row) {
    make_room_for(window_);
    for (uint32_t block = 0; block < blocks_of(window_); ++block) ahead_->finish({in_ring(window_), block});
    used_.push_back({window_ + 1, row > of_window ? launch + 1 : launch});
    of_window = row;
    go_to(window_ + 1);
  };
  const uint64_t epoch = next_batch_ / n_batches_;
  while (epoch_of(window_) < epoch) leave(first_row);
  for (uint64_t row = first_row; row < end_row;) {
    while (row >= rows_.end_row()) leave(row);
    make_room_for(window_);
    for (const uint64_t end = std::min(end_row, rows_.end_row()); row < end; ++row) {
      const RowOrder::Rows::Place place = places_->at(static_cast<uint32_t>(row - rows_.first_row));
      const BlockNumber block = {in_ring(window_), place.block};
      ahead_->wait(block);
      indices[row - first_row] = static_cast<uint32_t>(ahead_->place_of(block) * order_.block_rows() + place.row);
    }
  }
  std::fill(indices + (end_row - first_row), indices + batch_, 0u);
  ++next_batch_;
  is_lost_ = false;
}

}  // namespace synfire::network
