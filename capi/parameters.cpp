// The functions of synfire.h for the parameters of layers.
#include "calls.hpp"

#include <neurons/parameter_bounds.hpp>
#include <neurons/parameters/update_parameter.hpp>

#include <limits>

using namespace synfire;
using namespace synfire::capi;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Those that are given; infinite: none.
core::ParameterBounds bounds_of(const core::ParameterSet& parameters, core::ParameterName name,
                                const synfire_update_parameter_desc& desc) {
  core::ParameterBounds wanted = {-infinity, infinity};
  if ((desc.bounds & SYNFIRE_BOUND_LOWER) != 0) wanted.lower = desc.lower;
  if ((desc.bounds & SYNFIRE_BOUND_UPPER) != 0) wanted.upper = desc.upper;
  return core::trained_bounds(parameters, name, wanted);
}

}  // namespace

extern "C" {

synfire_status SYNFIRE_CALL synfire_layer_set_parameter(synfire_layer layer, const char* name, const double* values,
                                                        uint64_t count) noexcept {
  return guarded(__func__, [&] {
    const auto found = held(layer);
    check_pointer(name, "name");
    const core::ParameterName parameter = found->parameters().find(name);
    check_pointer(values, "values");
    const core::ParameterValues one = {parameter, {values, count}};
    found->set_parameters({&one, 1});
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_layer_get_parameter(synfire_layer layer, const char* name, double* values,
                                                        uint64_t count) noexcept {
  return guarded(__func__, [&] {
    const auto found = held(layer);
    check_pointer(name, "name");
    const core::ParameterName parameter = found->parameters().find(name);
    check_pointer(values, "values");
    found->get_parameter(parameter, name, {values, count});
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_layer_get_parameter_info(synfire_layer layer, uint32_t index,
                                                             synfire_parameter_info* info) noexcept {
  return guarded(__func__, [&] {
    const auto found = held(layer);
    const Answer out(info, "info");
    const core::ParameterSet& parameters = found->parameters();
    if (index >= parameters.size())
      core::fail_argument("SYN-PARAMETER-INDEX", "index is %u; this layer has %u parameters", index, parameters.size());
    const auto lock = found->lock_parameters();
    const auto& spec = parameters.spec(index);
    synfire_parameter_info answer = SYNFIRE_PARAMETER_INFO_INIT;
    answer.open_range = spec.open_range;
    answer.length = parameters.values(index).size();
    answer.default_value = spec.default_value;
    answer.minimum = spec.minimum;
    answer.maximum = spec.maximum;
    answer.name = spec.name;
    out.write(answer);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_layer_set_parameters(synfire_layer layer, const synfire_parameter_values* list,
                                                         uint64_t n_values) noexcept {
  return guarded(__func__, [&] {
    const auto found = held(layer);
    check_pointer(list, "list");
    const core::ParameterSet& parameters = found->parameters();
    if (n_values == 0 || n_values > parameters.size())
      core::fail_argument("SYN-PARAMETER-LIST",
                          "n_values is %llu; this layer has %u parameters, and at least 1 of them must be set",
                          static_cast<unsigned long long>(n_values), parameters.size());
    core::ParameterValues entries[model::max_parameters];
    for (uint64_t i = 0; i < n_values; ++i) {
      const auto field = [&](const char* name) {
        return std::string("list[").append(std::to_string(i)).append("].").append(name);
      };
      if (!list[i].name) fail_null(field("name").c_str());
      if (!list[i].values) fail_null(field("values").c_str());
      entries[i] = {parameters.find(list[i].name, "list[].name"), {list[i].values, list[i].count}};
    }
    found->set_parameters({entries, n_values});
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_layer_set_n_active(synfire_layer layer, int64_t n_rows) noexcept {
  return guarded(__func__, [&] {
    held(layer)->set_n_active(n_rows);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_graph_record_update_parameter(synfire_graph graph, synfire_layer layer,
                                                                  const synfire_update_parameter_desc* desc) noexcept {
  return record_on(__func__, graph, layer, "layer", desc,
                   [](core::Graph& target, core::Layer& found, const Operands<synfire_update_parameter_desc>& given) {
                     const core::ParameterName name = found.parameters().find(given.desc.name, "desc.name");
                     const core::ParameterBounds bounds = bounds_of(found.parameters(), name, given.desc);
                     const operations::UpdateRequest request = {name, given.gradient.get(),
                                                                bounds.lower == -infinity ? nullptr : &bounds.lower,
                                                                bounds.upper == infinity ? nullptr : &bounds.upper};
                     operations::record_update(target, found, request, given.desc.learning_rate);
                   });
}

}  // extern "C"
