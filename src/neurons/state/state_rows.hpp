// Operations on the state of layers, on a range of the batch: reset (also by a mask), copies to and from buffers and
// between layers, snapshots in memory of the host or in a buffer.
#ifndef SYNFIRE_NEURONS_STATE_STATE_ROWS_HPP
#define SYNFIRE_NEURONS_STATE_STATE_ROWS_HPP

#include <graph/operation.hpp>
#include <neurons/layer.hpp>

namespace synfire::operations {

using core::Buffer;
using core::Layer;
using core::OperationList;

// Batch rows of a layer; n_rows of 0 means all from first_row on.
struct RowRange {
  int64_t first_row;
  int64_t n_rows;
};

// All throw INVALID_ARGUMENT. `mask` may be null.
OperationList reset_rows(Layer& layer, RowRange rows, Buffer* mask);
OperationList read_rows(Layer& layer, const char* name, RowRange rows, Buffer& destination);
OperationList write_rows(Layer& layer, const char* name, RowRange rows, Buffer& source);
OperationList copy_rows(Layer& source, RowRange rows, Layer& destination, int64_t destination_row);
// A snapshot is a header that describes it, then V (and W) of the rows.
OperationList snapshot_rows(Layer& layer, RowRange rows, Buffer& destination);
OperationList restore_rows(Layer& layer, RowRange rows, Buffer& source);

// Snapshots in host memory. They run now, after all work on the device's own stream, and block.
uint64_t snapshot_bytes(const Layer& layer, RowRange rows);
void take_snapshot(Layer& layer, RowRange rows, void* data);
void put_snapshot(Layer& layer, RowRange rows, const void* data, uint64_t bytes);

}  // namespace synfire::operations

#endif
