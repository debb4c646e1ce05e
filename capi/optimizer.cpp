// The functions of synfire.h for optimisers.
#include "operands.hpp"

#include <optimizer/optimizer.hpp>

namespace {

using namespace synfire;
using namespace synfire::capi;

using HeldOptimizer = Held<operations::Optimizer>;

HeldOptimizer held_optimizer(synfire_optimizer handle) {
  return {value_of(handle), "optimizer", core::ObjectType::optimizer};
}

operations::OptimizerStepRequest request_of(const Operands<synfire_optimizer_step_desc>& given) {
  return {given.desc.learning_rate, given.desc.weight_decay,   given.desc.clip_norm,      given.desc.schedule,
          given.desc.warmup_steps,  given.desc.schedule_steps, given.desc.schedule_factor};
}

void add_array(synfire_optimizer optimizer, synfire_synapse synapse, const char* name,
               const operations::MemberFactors& factors) {
  const auto found = held_optimizer(optimizer);
  const auto added = required(synapse, "synapse", *found->context());
  check_pointer(name, "name");
  found->add_array(*added, name, factors);
}

}  // namespace

extern "C" {

synfire_status SYNFIRE_CALL synfire_optimizer_create(synfire_context context, const synfire_optimizer_desc* desc,
                                                     synfire_optimizer* optimizer) noexcept {
  return guarded(__func__, [&] {
    check_pointer(optimizer, "optimizer");
    *optimizer = nullptr;
    core::drain();
    const auto owner = held(context);
    const synfire_optimizer_desc checked = read_descriptor(desc, "desc");
    *optimizer = registered<synfire_optimizer>(core::charged_as(
        SYNFIRE_TAG_OPTIMIZER, [&] { return new operations::Optimizer(*owner, operations::OptimizerSpec(checked)); }));
    return SYNFIRE_OK;
  });
}

void SYNFIRE_CALL synfire_optimizer_destroy(synfire_optimizer optimizer) noexcept {
  capi::remove(value_of(optimizer), core::ObjectType::optimizer);
}

synfire_status SYNFIRE_CALL synfire_optimizer_add_array(synfire_optimizer optimizer, synfire_synapse synapse,
                                                        const char* name, double learning_rate_factor,
                                                        double weight_decay_factor) noexcept {
  return guarded(__func__, [&] {
    add_array(optimizer, synapse, name, {learning_rate_factor, weight_decay_factor});
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_optimizer_add_weights(synfire_optimizer optimizer, synfire_synapse synapse,
                                                          double learning_rate_factor,
                                                          double weight_decay_factor) noexcept {
  return guarded(__func__, [&] {
    add_array(optimizer, synapse, "weight", {learning_rate_factor, weight_decay_factor});
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_optimizer_add_bias(synfire_optimizer optimizer, synfire_synapse synapse,
                                                       double learning_rate_factor,
                                                       double weight_decay_factor) noexcept {
  return guarded(__func__, [&] {
    add_array(optimizer, synapse, "bias", {learning_rate_factor, weight_decay_factor});
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_optimizer_add_parameter(synfire_optimizer optimizer, synfire_layer layer,
                                                            const char* name, synfire_buffer gradient,
                                                            double learning_rate_factor, double weight_decay_factor,
                                                            double lower, double upper) noexcept {
  return guarded(__func__, [&] {
    const auto found = held_optimizer(optimizer);
    const auto owner = required(layer, "layer", *found->context());
    check_pointer(name, "name");
    const auto buffer = required(gradient, "gradient", *found->context());
    found->add_parameter(*owner, owner->parameters().find(name, "name"), *buffer,
                         {learning_rate_factor, weight_decay_factor}, lower, upper);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_optimizer_set_factors(synfire_optimizer optimizer, int32_t member,
                                                          double learning_rate_factor, double weight_decay_factor,
                                                          int32_t frozen) noexcept {
  return guarded(__func__, [&] {
    const auto found = held_optimizer(optimizer);
    core::check_flag(frozen, "SYN-OPTIMIZER-FLAG", "frozen");
    found->set_factors(member, {learning_rate_factor, weight_decay_factor, frozen});
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_optimizer_query_memory(synfire_optimizer optimizer,
                                                           synfire_optimizer_memory* memory) noexcept {
  return guarded(__func__, [&] {
    const auto found = held_optimizer(optimizer);
    const Answer out(memory, "memory");
    synfire_optimizer_memory answer = SYNFIRE_OPTIMIZER_MEMORY_INIT;
    found->query_memory(answer);
    out.write(answer);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_optimizer_read(synfire_optimizer optimizer, int32_t member, const char* name,
                                                   void* values, uint64_t bytes) noexcept {
  return guarded(__func__, [&] {
    const auto found = held_optimizer(optimizer);
    check_pointer(name, "name");
    found->read(member, name, values, bytes);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_optimizer_write(synfire_optimizer optimizer, int32_t member, const char* name,
                                                    const void* values, uint64_t bytes) noexcept {
  return guarded(__func__, [&] {
    const auto found = held_optimizer(optimizer);
    check_pointer(name, "name");
    found->write(member, name, values, bytes);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_optimizer_step(synfire_optimizer optimizer, const synfire_optimizer_step_desc* desc,
                                                   synfire_stream stream) noexcept {
  return guarded(__func__, [&] {
    const auto found = held_optimizer(optimizer);
    return run_or_captured(operations::step_now(*found, request_of({desc, *found->context()}), stream));
  });
}

synfire_status SYNFIRE_CALL synfire_graph_record_optimizer_step(synfire_graph graph, synfire_optimizer optimizer,
                                                                const synfire_optimizer_step_desc* desc) noexcept {
  return guarded(__func__, [&] {
    const auto target = held(graph);
    const auto found = held_optimizer(optimizer);
    check_same_context(*found, *target->context(), "optimizer");
    operations::record_optimizer_step(*target, *found, request_of({desc, *target->context()}));
    return SYNFIRE_OK;
  });
}

}  // extern "C"
