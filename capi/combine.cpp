// The functions of synfire.h for what meets where branches do: combinations, means over groups, and their gradients.
#include "calls.hpp"

#include <operations/combine/combine.hpp>
#include <operations/group_mean/group_mean.hpp>

#include <vector>

namespace {

using namespace synfire;
using namespace synfire::capi;

// A list of numbers of a descriptor.
template <class Number>
std::span<const Number> numbers_of(const Number* numbers, uint64_t count, const char* name, const char* count_name,
                                   const char* rule) {
  if (count == 0) return {};
  check_pointer(numbers, name);
  if (count > static_cast<uint64_t>(operations::most_combined))
    core::fail_argument(rule, "%s is %llu; at most %d are allowed", count_name, static_cast<unsigned long long>(count),
                        operations::most_combined);
  return {numbers, static_cast<size_t>(count)};
}

template <class Desc>
std::span<const int64_t> channels_of(const Desc& desc) {
  return numbers_of(desc.channels, desc.n_channels, "desc.channels", "desc.n_channels", "SYN-COMBINE-CHANNELS");
}

core::OperationList made_of(const Operands<synfire_combine_desc>& given) {
  const synfire_combine_desc& desc = given.desc;
  std::vector<core::Buffer*> sources;
  for (size_t k = 0; k < given.sources.size(); ++k) sources.push_back(given.sources.buffer(k));
  return operations::combine(
      {static_cast<operations::CombineKind>(desc.kind),
       {desc.n_steps, desc.batch, desc.n_neurons},
       sources,
       channels_of(desc),
       numbers_of(desc.bounds, desc.n_bounds, "desc.bounds", "desc.n_bounds", "SYN-COMBINE-BOUND"),
       given.destination.get()});
}
core::OperationList made_of(const Operands<synfire_combine_backward_desc>& given) {
  const synfire_combine_backward_desc& desc = given.desc;
  return operations::combine_backward({static_cast<operations::CombineKind>(desc.kind),
                                       {desc.n_steps, desc.batch, desc.n_neurons},
                                       channels_of(desc),
                                       desc.source,
                                       desc.accumulate == 1,
                                       given.grad_destination.get(),
                                       given.other.get(),
                                       given.grad_source.get()});
}
core::OperationList made_of(const Operands<synfire_group_mean_desc>& given) {
  return operations::group_mean({given.desc.n_steps, given.desc.n_groups, given.desc.group_size, given.desc.batch,
                                 given.source.get(), given.destination.get()});
}
core::OperationList made_of(const Operands<synfire_group_mean_backward_desc>& given) {
  return operations::group_mean_backward({given.desc.n_steps, given.desc.n_groups, given.desc.group_size,
                                          given.desc.batch, given.desc.accumulate == 1, given.grad_destination.get(),
                                          given.grad_source.get()});
}

constexpr auto make_operations = [](const auto& given) { return made_of(given); };

}  // namespace

extern "C" {

synfire_status SYNFIRE_CALL synfire_combine(synfire_context context, const synfire_combine_desc* desc,
                                            synfire_stream stream) noexcept {
  return run_now(__func__, context, desc, stream, make_operations);
}

synfire_status SYNFIRE_CALL synfire_graph_record_combine(synfire_graph graph,
                                                         const synfire_combine_desc* desc) noexcept {
  return record(__func__, graph, desc, make_operations);
}

synfire_status SYNFIRE_CALL synfire_combine_backward(synfire_context context, const synfire_combine_backward_desc* desc,
                                                     synfire_stream stream) noexcept {
  return run_now(__func__, context, desc, stream, make_operations);
}

synfire_status SYNFIRE_CALL synfire_graph_record_combine_backward(synfire_graph graph,
                                                                  const synfire_combine_backward_desc* desc) noexcept {
  return record(__func__, graph, desc, make_operations);
}

synfire_status SYNFIRE_CALL synfire_group_mean(synfire_context context, const synfire_group_mean_desc* desc,
                                               synfire_stream stream) noexcept {
  return run_now(__func__, context, desc, stream, make_operations);
}

synfire_status SYNFIRE_CALL synfire_graph_record_group_mean(synfire_graph graph,
                                                            const synfire_group_mean_desc* desc) noexcept {
  return record(__func__, graph, desc, make_operations);
}

synfire_status SYNFIRE_CALL synfire_group_mean_backward(synfire_context context,
                                                        const synfire_group_mean_backward_desc* desc,
                                                        synfire_stream stream) noexcept {
  return run_now(__func__, context, desc, stream, make_operations);
}

synfire_status SYNFIRE_CALL synfire_graph_record_group_mean_backward(
    synfire_graph graph, const synfire_group_mean_backward_desc* desc) noexcept {
  return record(__func__, graph, desc, make_operations);
}

}  // extern "C"
