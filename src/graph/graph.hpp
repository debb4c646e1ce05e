// A graph: operations recorded once, instantiated once, replayed many times.
#ifndef SYNFIRE_GRAPH_GRAPH_HPP
#define SYNFIRE_GRAPH_GRAPH_HPP

#include "address_index.hpp"
#include "graph_statistics.hpp"
#include "graph_values.hpp"
#include "replay.hpp"
#include "scratch.hpp"
#include "slots.hpp"

#include <base/error.hpp>
#include <layer/layer.hpp>
#include <synapse/synapse.hpp>

#include <optional>

namespace synfire::core {

class Graph;

// A recorded forward, with or without a tape. The graph keeps its buffers alive.
struct RecordedForward {
  Layer* layer;
  uint32_t operation;
  Ref<Tape> tape;  // null for inference
  TapeShape left;
  uint32_t layer_number = 0;               // in the graph
  uint32_t previous = AddressIndex::none;  // the forward of the layer before it
  int n_overwritten = 0;                   // how often later operations of the replay overwrite X and n_active
  TapeStamp stamp = {};                    // in the launch that runs its list on this thread now
};

// A recorded backward, and the recorded forward whose tape it reads: none if that forward runs outside the graph.
struct RecordedBackward {
  Layer* layer;
  uint32_t operation;
  std::optional<size_t> forward;  // an index into the recorded forwards
  Ref<Tape> tape;
  TapeShape shape;  // of it
  bool reads_input;
  uint32_t layer_number = 0;
  bool from_before = false;  // its forward is disabled now
  TapeStamp stamp = {};      // of a tape from before the replay, as the forward's
};

// What a graph is in use for: a launch on a stream, which layers compare to check the order of launches, or something
// else. Null if it is not in use.
using GraphUse = const void*;
inline constexpr int any_other_use = 0;

// Held by one thread at a time; a second one gets BUSY and does not wait.
class Exclusive {
 public:
  explicit Exclusive(std::atomic<GraphUse>& use, GraphUse what = &any_other_use) : use_(use) {
    GraphUse none = nullptr;
    // Sequentially consistent with the streams of layers: Layer::order_on().
    if (!use_.compare_exchange_strong(none, what, std::memory_order_seq_cst, std::memory_order_relaxed)) [[unlikely]]
      fail_busy();
  }
  ~Exclusive() { use_.store(nullptr, std::memory_order_release); }
  Exclusive(const Exclusive&) = delete;
  Exclusive& operator=(const Exclusive&) = delete;

 private:
  [[noreturn]] static void fail_busy();

  std::atomic<GraphUse>& use_;
};

// An operation that writes the weights of a synapse.
struct RecordedRewrite {
  Synapse* synapse;
  uint32_t operation;
  uint32_t synapse_number;  // in the graph
  uint32_t previous;        // the rewrite of the synapse before it, or AddressIndex::none
};

// An update of a parameter.
struct RecordedUpdate {
  Layer* layer;
  uint32_t operation;
  uint32_t parameter;
  uint32_t layer_number = 0;
  uint32_t previous = AddressIndex::none;  // the update of the layer before it
};

// A synapse or another shared object that operations of the graph use.
struct UsedObject {
  Ref<SharedObject> object;
  bool written;  // by one of them
};

enum class WaitPolicy : int32_t { spin = SYNFIRE_WAIT_SPIN, yield = SYNFIRE_WAIT_YIELD, block = SYNFIRE_WAIT_BLOCK };

// The result of a launch: a replay with a ticket, or a part of the caller's capture.
struct Launched {
  uint64_t ticket;
  bool captured;
};

// Memory of a slot that the host may access now; null while its replay is in flight.
struct SlotMemory {
  void* data;
  uint64_t bytes;
};

// The interface between a graph and the code that makes an operation.
class Recorder {
 public:
  // The number of the operation: 0, 1, 2 ...
  uint32_t number() const noexcept { return number_; }
  bool on_host() const noexcept;

  // A number that the operation reads from device memory and that can be changed between replays by this name: as the
  // bits of an element of `dtype` (fill), or as a double (number).
  const uint64_t* value(const char* name, GraphValues::Kind kind, int32_t dtype, double value);
  const double* number(const char* name, double value) {
    return reinterpret_cast<const double*>(this->value(name, GraphValues::Kind::number, SYNFIRE_DTYPE_F64, value));
  }
  const double* magnitude(const char* name, double value) {  // at least 0
    return reinterpret_cast<const double*>(this->value(name, GraphValues::Kind::magnitude, SYNFIRE_DTYPE_F64, value));
  }
  const double* fraction(const char* name, double value) {  // from 0 to 1
    return reinterpret_cast<const double*>(this->value(name, GraphValues::Kind::fraction, SYNFIRE_DTYPE_F64, value));
  }
  const double* probability(const char* name, double value) {  // from 0 to less than 1
    return reinterpret_cast<const double*>(this->value(name, GraphValues::Kind::probability, SYNFIRE_DTYPE_F64, value));
  }
  // The same for whole numbers, and for one that every replay advances.
  const uint64_t* whole(const char* name, uint64_t value);
  CountedValue counted(const char* name, uint64_t value);
  // Under Layer::lock_parameters(): the operation updates this parameter of a layer too, which counts such operations.
  void updates(Layer& layer, uint32_t parameter);
  // The operation is a forward that leaves a tape of this shape. Returns the tape, or null for inference.
  Tape* leaves(Layer& layer, const TapeShape& shape);
  // The operation is a backward of the forward with this number, or of the newest. Returns the tape that it reads.
  // Throws STALE_TAPE if there is none, and INVALID_ARGUMENT if the number is not that of a forward of this layer in
  // this graph.
  Tape& reads_tape(Layer& layer, std::optional<uint32_t> forward, const TapeUse& use);

 private:
  friend class Graph;
  explicit Recorder(Graph& graph) noexcept;

  Graph& graph_;
  const uint32_t number_;
  std::optional<RecordedForward> forward_;
  std::optional<RecordedBackward> backward_;
  std::vector<RecordedUpdate> updates_;
  TapeInputs kept_;  // must live as long as the graph, although they are no operands
};

class Graph final : public Child, private Replayer, private ReplayObserver {
  friend class Recorder;

 public:
  static constexpr uint32_t most_slots = 64;
  static constexpr uint32_t shared_slots = SYNFIRE_SLOTS_SHARED;  // one, and any number of replays in flight

  // n_slots of 0: one slot if the graph has pinned buffers, else like shared_slots.
  Graph(Context& context, uint32_t n_slots) noexcept
      : Child(ObjectType::graph, context),
        on_host_(device().is_host()),
        n_slots_(n_slots),
        values_(device()),
        statistics_(StampClock::of_this_machine()) {}

  // Records the entries that make() returns as one operation, together with what make() told the recorder: all or
  // nothing.
  void record(FunctionRef<OperationList(Recorder&)> make);
  // The number of the operation recorded last: 0, 1, 2 ...
  int32_t last_operation();
  void instantiate();

  // ---- between replays
  void set_enabled(int32_t operation, bool enabled);
  // Takes effect with the next launch; replays in flight keep the value they were launched with.
  void set_value(int32_t operation, const char* name, double value);
  // From the next launch on, the graph uses `now` in place of `before`.
  void rebind(Buffer& before, Buffer& now);

  // ---- replays
  Launched launch(synfire_stream stream) { return Launch(*this, stream).run(); }
  // The same in two steps. In between, the caller may give up its reference: the graph is not freed before the end of
  // the Launch. It throws BUSY if the graph is in use.
  class Launch {
   public:
    Launch(Graph& graph, synfire_stream stream)
        : graph_(graph), stream_(stream), where_(stream_id(stream)), exclusive_(graph.use_, where_) {}
    Launched run() const { return graph_.launch(stream_, where_); }

   private:
    Graph& graph_;
    const synfire_stream stream_;
    const StreamId where_;
    const Exclusive exclusive_;
  };
  // One owner's use of the graph over several calls, as of a network that trains. Launches and changes by others get
  // BUSY meanwhile, and to the objects that the graph uses it is as if a launch on the context's own stream were in
  // progress. Throws BUSY if the graph is in use.
  class Hold {
   public:
    explicit Hold(Graph& graph) : graph_(&graph), exclusive_(graph.use_, stream_id(nullptr)) {}
    // On the context's own stream.
    Launched launch() const { return graph_->launch(nullptr, stream_id(nullptr)); }
    void set_value(int32_t operation, const char* name, double value) const {
      graph_->change_value(operation, name, value);
    }
    // Sets an integer of 64 bits. Replays may advance it. Does not allocate.
    void set_whole(int32_t operation, const char* name, uint64_t value) const {
      graph_->change_whole(operation, name, value);
    }
    // Returns an integer that replays advance, once every replay that was launched before is done.
    uint64_t counted(int32_t operation, const char* name) const;
    // Waits for replays that were launched before.
    void finish() const { graph_->finish(); }

   private:
    const Ref<Graph> graph_;
    const Exclusive exclusive_;
  };
  // Returns SYNFIRE_OK or SYNFIRE_PENDING.
  synfire_status wait(uint64_t ticket, WaitPolicy policy, int64_t timeout_ns);
  // For the next launch (ticket 0), or for a finished replay whose slot no later launch has taken.
  SlotMemory slot_memory(uint64_t ticket, const Buffer& buffer);

  // ---- seeing inside
  std::string dot();
  void read_statistics(synfire_graph_statistics& statistics) const noexcept { statistics_.read(statistics); }
  void reset_statistics() noexcept { statistics_.reset(); }

 private:
  ~Graph() override;
  uint64_t launched() const noexcept override { return launched_.load(std::memory_order_acquire); }
  uint64_t finished() const noexcept override { return replay_->finished(); }
  void check_alive() override { replay_->check(); }
  StreamId launching_on() const noexcept override {
    const GraphUse use = use_.load(std::memory_order_seq_cst);
    return use == &any_other_use ? nullptr : use;
  }
  bool in_use() const noexcept override { return use_.load(std::memory_order_acquire) != nullptr; }
  StreamId last_stream() const noexcept override { return last_stream_.load(std::memory_order_relaxed); }
  void before(uint32_t operation) override;
  // Called before a launch on another stream than the last one.
  void check_idle() const;
  void check_recording() const;
  void check_instantiated() const {
    if (!instantiated_.load(std::memory_order_acquire)) [[unlikely]]
      fail_not_instantiated();
  }
  [[noreturn]] static void fail_not_instantiated();
  uint32_t use(Layer& layer) noexcept;
  uint32_t use(SharedObject& object, bool writes) noexcept;
  void remove_from_objects() noexcept;
  void keep(Buffer& buffer) noexcept;
  void note_written(Buffer& buffer) noexcept;
  void note_rewritten(Synapse& synapse, uint32_t operation) noexcept;
  void append(OperationList&& operations, const Recorder& recorder);
  void give_up(const Recorder& recorder) noexcept;
  void check_operation(int32_t operation) const;
  void change_value(int32_t operation, const char* name, double value);
  void change_whole(int32_t operation, const char* name, uint64_t value);
  void plan_tapes();
  Launched launch(synfire_stream stream, StreamId where);
  Launched launch_entered(synfire_stream stream, StreamId where);
  Launched launch_checked(synfire_stream stream, StreamId where);
  void launch_captured(synfire_stream stream);
  void check_tapes() const;
  void check_slot(uint64_t ticket) const;
  void stamp_tapes() noexcept;
  void stamp_operations() noexcept;
  void leave_tapes(bool captured);
  void count_writes() noexcept;
  const RecordedForward* find_forward(const Layer& layer, std::optional<uint32_t> operation) const noexcept;
  const RecordedUpdate* find_update(const Layer& layer, const RecordedForward* after) const noexcept;
  const RecordedRewrite* find_rewrite(const Synapse* synapse, const RecordedForward* after) const noexcept;
  // The first and the last enabled operation of a kind.
  struct Span {
    uint32_t first, last;
    bool any;

    void add(uint32_t operation) noexcept {
      first = any ? first : operation;
      last = operation;
      any = true;
    }
    bool before(uint32_t operation) const noexcept { return any && first < operation; }
    bool after(uint32_t operation) const noexcept { return any && last > operation; }
  };
  Span rewrites_of(const Synapse* synapse) const noexcept;
  uint64_t n_written_of(const TapeShape& shape) const noexcept;
  void note_reader(const Buffer* buffer, uint32_t forward) noexcept;
  void rebind_indices(Buffer& before, Buffer& now) noexcept;
  void leave_part() noexcept;
  void drop_updates_from(uint32_t operation) noexcept;
  void refresh(synfire_stream stream);
  void refresh_for_capture();
  uint32_t slot_count() const noexcept { return n_slots_ == 0 || n_slots_ == shared_slots ? 1 : n_slots_; }
  uint32_t most_in_flight() const;
  uint32_t slot_of(uint64_t ticket) const noexcept {
    const uint32_t n = slot_count();
    return n == 1 ? 0 : static_cast<uint32_t>((ticket - 1) % n);  // a division takes longer than the test
  }
  ReplayPlan plan(const OperationList& operations, const Slots& slots);
  void check_slots_and_tapes() const;

  // Buffers that the replay writes. For an owned one, the graph has its own part of the count (WriteCount).
  struct Written {
    Buffer* buffer;
    bool owned;
  };
  // What must hold when a replay begins, and what it leaves, given the operations that are enabled.
  struct TapeNeed {
    Layer* layer;
    Tape* tape;
    TapeShape shape;
    bool reads_input;
    bool never;  // its forward is disabled, and a parameter is updated before the tape is read
  };
  struct TapeLeft {
    Layer* layer;
    Tape* tape;  // null: for inference
    TapeShape shape;
    size_t forward;  // that leaves it
    bool last;       // of the replay's forwards of the layer
    // What to add to a stamp from before the replay to make it that of what the forward read: the changes that are
    // counted when the replay has been launched, less those made after the forward. X may be overwritten several times
    // and moved by the choice of a slot, while its writes count once, so that x_changes may be negative (modulo 2^64).
    uint64_t x_changes, weight_changes, parameter_changes;
    TapeStamp stamp = {};
  };
  struct Updated {
    Layer* layer;
    uint32_t parameters;  // a bit for each
  };

  // What a launch reads, contiguous in memory, because the caches are cold after the program's own work between
  // launches.
  alignas(64) std::atomic<GraphUse> use_{nullptr};
  std::atomic<bool> instantiated_{false};
  bool eager_ = false;     // SYNFIRE_GRAPH was 0 when the graph was instantiated
  bool observed_ = false;  // callbacks run during launches, and may change what a tape depends on
  const bool on_host_;     // a launch is the computation
  const uint32_t n_slots_;
  uint32_t most_in_flight_ = 0;                              // replays; 0: any number
  std::atomic<StreamId> last_stream_{&contexts_own_stream};  // of the last launch
  std::atomic<uint64_t> launched_{0};
  std::unique_ptr<Replay> replay_;
  std::vector<Ref<Layer>> layers_;
  std::vector<UsedObject> shared_;
  std::vector<TapeNeed> needs_;
  std::vector<Written> written_;
  std::vector<Updated> updated_;
  std::vector<Synapse*> rewritten_;  // each once
  std::vector<TapeLeft> leaves_;
  GraphValues values_;
  GraphStatistics statistics_;

  OperationList operations_;
  std::vector<uint32_t> owners_;  // for each entry of the list, its recorded operation
  std::vector<uint8_t> enabled_;  // of the recorded operations
  Scratch scratch_;               // of the replay
  std::vector<Ref<Buffer>> buffers_;
  std::vector<RecordedForward> forwards_;
  std::vector<RecordedBackward> backwards_;
  std::vector<RecordedUpdate> updates_;
  std::vector<RecordedRewrite> rewrites_;
  // Where the lists above have an object. Recording and planning would otherwise take the square of their length.
  AddressIndex layers_at_, shared_at_, buffers_at_, written_at_;
  AddressIndex readers_at_;  // the newest of the readers of a buffer
  struct Reader {
    uint32_t forward, previous;
  };
  std::vector<Reader> readers_;  // forwards that read a buffer, for each buffer
  // By the number of a layer: its newest forward and update. And what plan_tapes() knows of it.
  struct OfLayer {
    uint32_t forward = AddressIndex::none, update = AddressIndex::none;
    uint32_t left = AddressIndex::none;     // its last entry of leaves_
    uint32_t updated = AddressIndex::none;  // its entry of updated_
    Span updates = {};
  };
  std::vector<OfLayer> of_layers_;
  // By the number of a shared object; only synapses are rewritten.
  struct OfShared {
    uint32_t rewrite = AddressIndex::none;
    Span rewrites = {};
  };
  std::vector<OfShared> of_shared_;
  Mutex slots_mutex_;  // held by slot_memory() and rebind(), never by a launch
  std::unique_ptr<Slots> slots_;
  std::atomic<int64_t> last_check_ns_{0};  // when the device was last checked
};

}  // namespace synfire::core

#endif
