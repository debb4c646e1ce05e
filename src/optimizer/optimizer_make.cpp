// Turns requests into steps.
#include "optimizer.hpp"

#include <base/error.hpp>
#include <graph/eager_calls.hpp>
#include <graph/operands.hpp>
#include <neurons/graph_tapes.hpp>

#include <cmath>

namespace synfire::operations {

using namespace synfire::core;

namespace {

double chosen(double value, double own, const char* name) {
  if (!std::isfinite(value) || value < 0)
    fail_argument("SYN-OPTIMIZER-NUMBER", "desc.%s is %g; a finite number of at least 0 is needed", name, value);
  return value == 0 ? own : value;
}

StepValues values_of(const Optimizer& optimizer, const OptimizerStepRequest& request) {
  const OptimizerSpec& spec = optimizer.spec();
  check_schedule(request.schedule, request.warmup_steps, request.schedule_steps, request.schedule_factor);
  return {{nullptr, chosen(request.learning_rate, spec.learning_rate, "learning_rate")},
          {nullptr, chosen(request.weight_decay, spec.weight_decay, "weight_decay")},
          {nullptr, chosen(request.clip_norm, spec.clip_norm, "clip_norm")},
          {nullptr, static_cast<double>(request.schedule)},
          {nullptr, static_cast<double>(request.warmup_steps)},
          {nullptr, static_cast<double>(request.schedule_steps)},
          {nullptr, request.schedule_factor}};
}

bool has(const std::vector<View>& views, const View& view) {
  for (const View& each : views)
    if (each.data == view.data) return true;
  return false;
}

void add_operands(const OptimizerSynapse& member, OptimizerStep& op) {
  std::vector<View> updated, read;
  for (const SynapseArray& array : member.synapse->arrays()) updated.push_back(array.values);
  // Arrays are among the operands of the operations that derive from them.
  for (const Operation& operation : member.derive)
    for_each_operand(operation, [&](const Operand<const View>& operand) {
      if (!operand.view || has(updated, operand.view)) return;
      (operand.is_written() ? updated : read).push_back(operand.view);
    });
  for (const SynapseArray& array : member.synapse->arrays()) read.push_back(array.gradient);
  op.updated.insert(op.updated.end(), updated.begin(), updated.end());
  op.read.insert(op.read.end(), read.begin(), read.end());
}

OptimizerStep make_step(Optimizer& optimizer, const StepValues& values) {
  OptimizerStep op = {&optimizer, values, optimizer.state_memory(), {}, {}, {}};
  for (const OptimizerSynapse& member : optimizer.synapses()) add_operands(member, op);
  for (size_t i = 0; i < optimizer.members().size(); ++i) {
    const OptimizerMember& member = optimizer.members()[i];
    if (member.layer) op.parameters.push_back({i, member.gradient->view(), member.layer->parameter_memory()});
  }
  return op;
}

constexpr bool is_constant(double here, int32_t there) {
  return static_cast<int32_t>(here) == there;
}
static_assert(is_constant(schedule_constant, SYNFIRE_SCHEDULE_CONSTANT) &&
              is_constant(schedule_cosine, SYNFIRE_SCHEDULE_COSINE) &&
              is_constant(schedule_step, SYNFIRE_SCHEDULE_STEP));

}  // namespace

void check_schedule(int32_t schedule, int64_t warmup_steps, int64_t schedule_steps, double factor) {
  constexpr int64_t most_steps = int64_t{1} << 53;
  if (warmup_steps < 0 || warmup_steps > most_steps)
    fail_argument("SYN-OPTIMIZER-SCHEDULE", "desc.warmup_steps is %lld; 0 to 2^53 are allowed",
                  static_cast<long long>(warmup_steps));
  const int64_t least_steps = schedule == SYNFIRE_SCHEDULE_CONSTANT ? 0 : 1;
  if (schedule_steps < least_steps || schedule_steps > most_steps)
    fail_argument("SYN-OPTIMIZER-SCHEDULE", "desc.schedule_steps is %lld; this schedule needs %lld to 2^53",
                  static_cast<long long>(schedule_steps), static_cast<long long>(least_steps));
  if (!(factor >= 0 && factor <= 1))
    fail_argument("SYN-OPTIMIZER-SCHEDULE", "desc.schedule_factor is %g; a number from 0 to 1 is needed", factor);
}

OperationLabel label(const OptimizerStep& op) {
  const size_t count = op.optimizer->members().size();
  return {nullptr, std::to_string(count).append(count == 1 ? " member" : " members")};
}

bool step_now(Optimizer& optimizer, const OptimizerStepRequest& request, synfire_stream stream) {
  const StepValues values = values_of(optimizer, request);
  const EagerCall call(*optimizer.context(), stream);
  optimizer.seal();
  const OperationList operations = {make_step(optimizer, values)};
  const bool captured = call.run(operations, [&] { optimizer.note_updated(false); });
  optimizer.note_updated(captured);
  return captured;
}

void record_optimizer_step(Graph& graph, Optimizer& optimizer, const OptimizerStepRequest& request) {
  graph.record([&](Recorder& recorder) {
    StepValues values = values_of(optimizer, request);
    optimizer.seal();
    values.rate.where = recorder.magnitude("learning_rate", values.rate.number);
    values.decay.where = recorder.magnitude("weight_decay", values.decay.number);
    values.clip.where = recorder.magnitude("clip_norm", values.clip.number);
    values.schedule.where = recorder.choice("schedule", values.schedule.number);
    values.warmup_steps.where = recorder.count("warmup_steps", values.warmup_steps.number);
    values.schedule_steps.where = recorder.count("schedule_steps", values.schedule_steps.number);
    values.schedule_factor.where = recorder.fraction("schedule_factor", values.schedule_factor.number);
    for (const OptimizerMember& member : optimizer.members()) {
      if (!member.layer) continue;
      const auto lock = member.layer->lock_parameters();
      GraphTapes::of(recorder).updates(recorder, *member.layer, member.parameter);
    }
    return OperationList{make_step(optimizer, values)};
  });
}

}  // namespace synfire::operations
