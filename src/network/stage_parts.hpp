// The parts of a stage in a network that is built: objects and arrays, and how a graph records them. Each kind derives
// its own from StageParts, in stages/<kind>.cpp.
#ifndef SYNFIRE_NETWORK_STAGE_PARTS_HPP
#define SYNFIRE_NETWORK_STAGE_PARTS_HPP

#include "design.hpp"

#include <base/buffer.hpp>
#include <base/function_ref.hpp>
#include <graph/operation.hpp>
#include <neurons/state/state_rows.hpp>
#include <optimizer/optimizer.hpp>
#include <synapses/synapse.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace synfire::operations {
struct BackwardRequest;
struct ForwardRequest;
}  // namespace synfire::operations

namespace synfire::network {

class StageRecorder;
struct StateArrays;

// The mask of what a dropout keeps in each row, and the factor on the product. Null: it keeps all, and there is none.
struct DropoutArrays {
  Buffer* mask = nullptr;
  Buffer* scale = nullptr;
  int64_t mask_channels = 0;  // bits of a row of the mask, where it has one for each channel
};

// The X of neurons where it is not an array: the operations on the neurons compute it.
class Product {
 public:
  virtual void give(operations::ForwardRequest& request, StageRecorder& recorder) = 0;
  // `recorder` is at the neurons that read it.
  virtual void give(operations::BackwardRequest& request, StageRecorder& recorder) = 0;

 protected:
  ~Product() = default;
};

// An optimizer while stages add their trained parts, and the tensors of each in a file.
class Trainer {
 public:
  // Tensors of a member's moments: "hidden.weights", and its shape.
  struct Member {
    std::string name;
    std::function<std::vector<int64_t>()> shape;
  };

  explicit Trainer(operations::Optimizer& optimizer) noexcept : optimizer_(optimizer) {}
  operations::Optimizer& optimizer() const noexcept { return optimizer_; }
  // Names the member that was added last.
  void name_member(std::string&& name, std::function<std::vector<int64_t>()> shape) {
    members_.push_back({std::move(name), std::move(shape)});
  }
  std::vector<Member> take_members() noexcept { return std::move(members_); }

 private:
  operations::Optimizer& optimizer_;
  std::vector<Member> members_;
};

struct CarriedState {
  core::View memory;
  int32_t dtype;
  int64_t batch, width;
};

class StageMaker;

class StageParts {
 public:
  explicit StageParts(const StageView& stage) noexcept : stage_(stage) {}
  virtual ~StageParts() = default;
  StageParts(const StageParts&) = delete;
  StageParts& operator=(const StageParts&) = delete;

  const StageView& stage() const noexcept { return stage_; }
  virtual void finish(StageMaker&) {}

  // ---- what others see of it; null: there is none
  // For a program that wants a handle of it.
  virtual core::Object* object() const noexcept { return nullptr; }
  virtual Buffer* array(Port) const noexcept { return nullptr; }
  virtual Buffer* gradient(Port) const noexcept { return nullptr; }
  // Counts as they are, in u8.
  virtual Buffer* counts() const noexcept { return nullptr; }
  virtual DropoutArrays kept() const noexcept { return {}; }
  virtual Product* product() noexcept { return nullptr; }
  // Calls the function with each buffer for programs and its name; one that begins with a dot follows the stage's.
  virtual void offer(core::FunctionRef<void(const char*, const Ref<Buffer>&)>) const {}

  // ---- recording; a graph begins with what reads nothing, then the resets, then the others in their order. In a
  // cycle, forward() and backward() record one step (StageRecorder::step()); those that hand on their input are
  // recorded once. Of these rows of its state; a count of 0: all.
  virtual void add_reset(core::OperationList&, const operations::RowRange&) const {}
  virtual void forward(StageRecorder& recorder) = 0;
  // Called in reverse order, for stages with a gradient in the graph that trains.
  virtual void backward(StageRecorder&) {}
  virtual void step(StageRecorder&) {}
  // After the steps of all stages.
  virtual void end_step(StageRecorder&) {}
  // Before the forward of all stages, and after it.
  virtual void begin_forward(StageRecorder&) {}
  virtual void end_forward(StageRecorder&) {}
  // In a cycle, before the steps of the backward and after them: what takes all steps at once.
  virtual void begin_backward(StageRecorder&) {}
  virtual void end_backward(StageRecorder&) {}

  // ---- between replays
  virtual void train(Trainer&) {}
  // Throws WRONG_ORDER while a replay with it may be running on another stream.
  virtual void check_order() const {}
  // Waits until no replay uses it.
  virtual void wait() const {}
  // A value of the stage has changed. Returns true if that is all; else graphs that note the value take it.
  virtual bool take_value(const char* /*name*/, double /*value*/) { return false; }
  // Values of the stage have changed together: what take_value() would do for each, but for graphs and further values.
  virtual void take_values() {}
  // Throws INVALID_ARGUMENT if this many batches cannot be learnt now.
  virtual void check_batches(uint64_t /*n_batches*/) const {}
  // The current further value, which may have been trained, or set by the program. None: as in the design.
  virtual std::optional<double> further_value(const char* /*name*/) const { return std::nullopt; }
  // How weights are rounded to their grid, for the summary. None: it has no weights, or they have no grid.
  virtual std::optional<core::Rounding> rounding() const { return std::nullopt; }
  virtual void list_state(std::vector<CarriedState>&) const {}
  // With a monitor (monitors.hpp): fills in what it has seen; and begins anew.
  virtual void read_monitor(synfire_network_monitor&) const {}
  virtual void clear_monitor() const {}
  // From the next replay of frames on, the first rows alone are seen by the monitor.
  virtual void count_rows(int64_t /*n_rows*/) const {}
  virtual void list_saved(StateArrays&) const {}

 private:
  StageView stage_;
};

}  // namespace synfire::network

#endif
