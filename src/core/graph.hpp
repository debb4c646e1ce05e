// A graph: operations recorded once, instantiated once, replayed many times. Also the eager calls, which run the same
// operations at once.
#ifndef SYNFIRE_CORE_GRAPH_HPP
#define SYNFIRE_CORE_GRAPH_HPP

#include "layer.hpp"
#include "spike_operations.hpp"

namespace synfire::core {

// What one layer's tape is to a graph: what must hold when a replay begins, and what it leaves. The buffers are kept
// alive by the graph.
struct TapeUse {
  Layer* layer;
  TapeShape needed = {};        // the replay begins with a backward of a forward that left this
  bool needs_input = false;     // ... and that reads X again
  bool ran_forward = false;     // the replay contains a forward ...
  TapeShape left = {};          // ... whose last one leaves this
  bool overwritten = false;     // ... and whose X a later operation of the replay writes
};

enum class WaitPolicy : int32_t { spin = SYNFIRE_WAIT_SPIN, yield = SYNFIRE_WAIT_YIELD, block = SYNFIRE_WAIT_BLOCK };

class Graph final : public Child {
 public:
  explicit Graph(Context& context) noexcept : Child(ObjectType::graph, context) {}

  void record_forward(Layer& layer, const ForwardRequest& request);
  void record_backward(Layer& layer, const BackwardRequest& request);
  void record_copy(Buffer& source, uint64_t source_offset, Buffer& destination, uint64_t destination_offset,
                   uint64_t bytes);
  void record_convert_spikes(const ConvertSpikesRequest& request);
  void record_count_spikes(const CountSpikesRequest& request);
  void instantiate();

  // Returns the ticket.
  uint64_t launch(synfire_stream stream);
  // Returns SYNFIRE_OK or SYNFIRE_PENDING.
  synfire_status wait(uint64_t ticket, WaitPolicy policy, int64_t timeout_ns);

 private:
  ~Graph() override = default;
  void check_recording() const;
  TapeUse& use_of(Layer& layer);
  void keep(std::initializer_list<Buffer*> buffers);
  void note_written(std::initializer_list<Buffer*> buffers);

  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  OperationList operations_;
  std::vector<Ref<Buffer>> buffers_;
  std::vector<Buffer*> written_;  // by operations of the replay
  std::vector<Ref<Layer>> layers_;
  std::vector<TapeUse> tapes_;
  std::unique_ptr<Replay> replay_;
  std::atomic<bool> instantiated_{false};
  std::atomic<uint64_t> launched_{0};
};

// Eager calls: the operation a graph would record, run now.
void run_forward(Layer& layer, const ForwardRequest& request, synfire_stream stream);
void run_backward(Layer& layer, const BackwardRequest& request, synfire_stream stream);
void run_reset_state(Layer& layer, synfire_stream stream);
void run_convert_spikes(Context& context, const ConvertSpikesRequest& request, synfire_stream stream);
void run_count_spikes(Context& context, const CountSpikesRequest& request, synfire_stream stream);

}  // namespace synfire::core

#endif
