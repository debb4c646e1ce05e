// The metadata of a network's file: the design, and the positions of its runs. One text for the whole and one for each
// stage, made of words "key=value".
#ifndef SYNFIRE_NETWORK_SAVED_HPP
#define SYNFIRE_NETWORK_SAVED_HPP

#include "design.hpp"
#include "row_order.hpp"

#include <base/function_ref.hpp>
#include <files/safetensors_file.hpp>
#include <files/safetensors_writer.hpp>

namespace synfire::network {

// The next random number of every stage in training, in inference and before a loss of the program's own; 0 for those
// that draw none.
struct Position {
  std::vector<uint64_t> training, inference, forward;
  uint64_t next_batch = 0;
  int64_t n_rows = 0;  // of the data set that the next batch belongs to; 0: none
  RowBlocks blocks;    // in which its rows are in order
};

struct SavedNetwork {
  Design design;
  Position position;
};

void write_metadata(files::SafetensorsWriter& writer, const Design& design, const Position& position);
// Reads the metadata, and the tensors of the design, such as masks. Finds loaded models and surrogates by name in the
// context. Throws INVALID_ARGUMENT unless the file has all of a design that can be built.
SavedNetwork read_metadata(const files::SafetensorsFile& file, const core::Context& context);

// Adds copies of those stages of another design that the function wants, with their inputs as far as these are wanted;
// a stage that has lost all of them is not copied either. Returns the numbers that the copied stages had.
std::vector<size_t> add_copies(Design& design, const Design& from, core::FunctionRef<bool(const Stage&)> wants);
// The file's network without stages of training that the network lacks.
SavedNetwork as_in(const SavedNetwork& saved, const Design& network);

// Throws INVALID_ARGUMENT, with the first difference, unless the network has the stages of the file, but for numbers of
// steps and batch rows and changeable values. Loss and optimiser of the file need not be there.
void check_same(const Design& network, const Design& file);

}  // namespace synfire::network

#endif
