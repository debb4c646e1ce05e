// Turns requests into checked operations.
#include "copy.hpp"
#include "fill.hpp"
#include "scale_add.hpp"

#include <base/error.hpp>
#include <base/view_checks.hpp>
#include <graph/eager_calls.hpp>
#include <graph/operands.hpp>

namespace synfire::operations {

using namespace synfire::core;

// ---- copy -----------------------------------------------------------------------------------------------------------

void Copy::operands(Copy& op, OperandVisitor visit) {
  visit({"desc.source", op.source, Access::read, Transfer::direct});
  visit({"desc.destination", op.destination, Access::write, Transfer::direct});
}

OperationLabel label(const Copy& op) {
  return {nullptr, std::string(name_of_memory(op.source.memory))
                       .append(" to ")
                       .append(name_of_memory(op.destination.memory))
                       .append(", ")
                       .append(std::to_string(op.source.bytes))
                       .append(" bytes")};
}

OperationList copy(const CopyRequest& request) {
  View from = request.source->view(), to = request.destination->view();
  const bool on_host = request.source->on_host();
  for (const auto& [name, view] : {std::pair{"desc.source", &from}, std::pair{"desc.destination", &to}})
    if (!on_host && view->memory == SYNFIRE_MEMORY_HOST)
      fail_argument("SYN-BUFFER-KIND",
                    "%s is a buffer of pageable host memory; a graph on a CUDA context copies between device and "
                    "pinned buffers",
                    name);
  if (request.source_offset > from.bytes)
    fail_argument("SYN-COPY-RANGE", "desc.source_offset is %llu; desc.source holds %llu bytes",
                  static_cast<unsigned long long>(request.source_offset), static_cast<unsigned long long>(from.bytes));
  const uint64_t bytes = request.bytes == 0 ? from.bytes - request.source_offset : request.bytes;
  if (bytes == 0) fail_argument("SYN-COPY-RANGE", "desc.source_offset is the size of desc.source: nothing to copy");
  if (bytes > from.bytes - request.source_offset)
    fail_argument("SYN-COPY-RANGE", "desc.bytes is %llu at desc.source_offset %llu; desc.source holds %llu bytes",
                  static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(request.source_offset),
                  static_cast<unsigned long long>(from.bytes));
  if (request.destination_offset > to.bytes || bytes > to.bytes - request.destination_offset)
    fail_argument("SYN-COPY-RANGE",
                  "%llu bytes do not fit at desc.destination_offset %llu; desc.destination holds %llu bytes",
                  static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(request.destination_offset),
                  static_cast<unsigned long long>(to.bytes));
  from.data = static_cast<char*>(from.data) + request.source_offset;
  to.data = static_cast<char*>(to.data) + request.destination_offset;
  from.bytes = to.bytes = bytes;
  OperationList operations = {Copy{from, to}};
  check_overlap(operations);
  return operations;
}

// ---- fill -----------------------------------------------------------------------------------------------------------

void Fill::operands(Fill& op, OperandVisitor visit) {
  visit({"desc.buffer", op.array, Access::write, Transfer::direct});
}

OperationLabel label(const Fill& op) {
  return {nullptr, std::string(name_of_memory(op.array.memory)).append(" ").append(name_of_dtype(op.array.dtype))};
}

void record_fill(Graph& graph, const Buffer& buffer, double value) {
  graph.record([&](Recorder& recorder) {
    fill_bits(buffer.dtype(), value);
    check_memory(buffer, "desc.buffer");
    return OperationList{
        Fill{buffer.view(), value, recorder.value("value", GraphValues::Kind::fill, buffer.dtype(), value)}};
  });
}

void fill_now(Buffer& buffer, double value) {
  buffer.check_has_memory("buffer");
  buffer.check_may_be_written("buffer");
  fill_bits(buffer.dtype(), value);
  Device& device = buffer.context()->device();
  // A GPU cannot access pageable memory.
  if (!device.is_host() && buffer.view().memory == SYNFIRE_MEMORY_HOST) {
    device.synchronize();
    buffer.mark_written();
    return fill_memory(Fill{buffer.view(), value});
  }
  buffer.mark_written();
  const Operation operation = Fill{buffer.view(), value};
  device.execute({&operation, 1}, nullptr);
  device.synchronize();
}

// ---- scale and add --------------------------------------------------------------------------------------------------

void ScaleAdd::operands(ScaleAdd& op, OperandVisitor visit) {
  visit({"desc.source", op.source, Access::read});
  // Each element is read before it is written, so the two may be one array.
  visit({"desc.destination", op.destination, Access::update, Transfer::staged, &op.source});
}

OperationLabel label(const ScaleAdd& op) {
  return {nullptr,
          std::string(name_of_memory(op.destination.memory)).append(" ").append(name_of_dtype(op.destination.dtype))};
}

namespace {

void check_number(const Buffer& buffer, const char* name) {
  check_type(buffer, name, number_dtypes);
}

uint64_t elements_of(const Buffer& buffer) {
  return buffer.view().bytes / bytes_of_dtype(buffer.dtype());
}

}  // namespace

OperationList scale_add(const ScaleAddRequest& request) {
  const Buffer &source = *request.source, &destination = *request.destination;
  check_number(source, "desc.source");
  check_number(destination, "desc.destination");
  if ((source.dtype() == SYNFIRE_DTYPE_F64) != (destination.dtype() == SYNFIRE_DTYPE_F64))
    fail_argument("SYN-SCALE-ADD-TYPE", "desc.source holds %s and desc.destination %s; f64 goes with f64 only",
                  name_of_dtype(source.dtype()), name_of_dtype(destination.dtype()));
  if (elements_of(source) != elements_of(destination) || source.row_pitch() != destination.row_pitch())
    fail_argument(
        "SYN-SCALE-ADD-SIZE",
        "desc.source holds %llu elements at a row_pitch of %llu, desc.destination %llu at %llu; both must be the "
        "same",
        static_cast<unsigned long long>(elements_of(source)), static_cast<unsigned long long>(source.row_pitch()),
        static_cast<unsigned long long>(elements_of(destination)),
        static_cast<unsigned long long>(destination.row_pitch()));
  if (!fits(source.shape(), destination.shape().all()) && !fits(destination.shape(), source.shape().all()))
    fail_argument("SYN-BUFFER-SHAPE", "desc.source has shape %s, desc.destination %s; both must be the same",
                  lengths_text(source.shape().all()).c_str(), lengths_text(destination.shape().all()).c_str());
  check_scalar(request.scale, "desc.scale");
  check_scalar(request.keep, "desc.keep");
  check_memory(source, "desc.source");
  check_memory(destination, "desc.destination");
  OperationList operations = {ScaleAdd{source.view(), destination.view(), request.scale, request.keep}};
  check_overlap(operations);
  return operations;
}

void record_scale_add(Graph& graph, const ScaleAddRequest& request) {
  graph.record([&](Recorder& recorder) {
    scale_add(request);  // refuses invalid numbers
    return OperationList{ScaleAdd{request.source->view(), request.destination->view(), request.scale, request.keep,
                                  recorder.number("scale", request.scale), recorder.number("keep", request.keep)}};
  });
}

}  // namespace synfire::operations
