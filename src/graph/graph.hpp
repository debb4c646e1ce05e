// A graph: operations recorded once, instantiated once, replayed many times.
#ifndef SYNFIRE_GRAPH_GRAPH_HPP
#define SYNFIRE_GRAPH_GRAPH_HPP

#include "address_index.hpp"
#include "graph_statistics.hpp"
#include "graph_use.hpp"
#include "graph_values.hpp"
#include "passed_on.hpp"
#include "recorded_writes.hpp"
#include "recorder.hpp"
#include "replay.hpp"
#include "slots.hpp"
#include "tape_keeper.hpp"

#include <base/buffer.hpp>
#include <base/error.hpp>
#include <base/replayed.hpp>
#include <base/shared_order.hpp>

#include <functional>
#include <memory>

namespace synfire::core {

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

class Graph final : public Child, private Replayer, private ReplayObserver {
  friend class Launching;
  friend class Recorder;

 public:
  static constexpr uint32_t most_slots = 64;
  static constexpr uint32_t shared_slots = SYNFIRE_SLOTS_SHARED;  // one, and any number of replays in flight

  // n_slots of 0: one slot if the graph has pinned buffers, else like shared_slots. The memory of transient arrays is
  // in `arena`, or in an arena of the graph's own if it is null.
  Graph(Context& context, uint32_t n_slots, std::shared_ptr<Arena> arena = nullptr)
      : Child(ObjectType::graph, context),
        on_host_(device().is_host()),
        n_slots_(n_slots),
        values_(device()),
        statistics_(StampClock::of_this_machine()),
        arena_(arena ? std::move(arena) : std::make_shared<Arena>(device())) {}

  // Records the entries that make() returns as one operation, with what it told the recorder: all or nothing.
  void record(FunctionRef<OperationList(Recorder&)> make);
  int32_t last_operation();
  // From now on, an operation has the entries that the function makes of those that record() gets.
  using Rewrite = std::function<OperationList(OperationList&&)>;
  void rewrite_with(Rewrite&& rewrite) { rewrite_ = std::move(rewrite); }
  // Before the graph is instantiated, the function puts all entries into another order, or joins some of them. It gets
  // the recorded operation of each, and keeps that in step.
  using Arrange = std::function<void(OperationList&, std::vector<uint32_t>&)>;
  void arrange_with(Arrange&& arrange) { arrange_ = std::move(arrange); }
  void instantiate();

  // ---- between replays
  void set_enabled(int32_t operation, bool enabled);
  // Takes effect with the next launch; replays in flight keep their value.
  void set_value(int32_t operation, const char* name, double value);
  // Replaces `before` by `now` from the next launch on.
  void rebind(Buffer& before, Buffer& now);

  // ---- replays
  Launched launch(synfire_stream stream) { return Launch(*this, stream).run(); }
  // A launch in two steps, between which the caller may give up its reference: the graph lives until the end of the
  // Launch. Throws BUSY if the graph is in use.
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
  // One owner's use of the graph over several calls, as of a network that trains. Meanwhile, launches and changes by
  // others get BUSY, and the objects of the graph see a launch in progress on the context's own stream. Throws BUSY if
  // the graph is in use.
  class Hold {
   public:
    explicit Hold(Graph& graph) : graph_(&graph), exclusive_(graph.use_, stream_id(nullptr)) {}
    Launched launch() const { return graph_->launch(nullptr, stream_id(nullptr)); }
    void set_value(int32_t operation, const char* name, double value) const {
      graph_->change_value(operation, name, value);
    }
    // Sets a 64-bit integer, which replays may advance. Does not allocate.
    void set_whole(int32_t operation, const char* name, uint64_t value) const {
      graph_->change_whole(operation, name, value);
    }
    // Returns an integer that replays advance, once every replay launched before is done.
    uint64_t counted(int32_t operation, const char* name) const;
    void finish() const { graph_->finish(); }

   private:
    const Ref<Graph> graph_;
    const Exclusive exclusive_;
  };
  synfire_status wait(uint64_t ticket, WaitPolicy policy, int64_t timeout_ns);
  // For the next launch (ticket 0), or for a finished replay whose slot no later launch has taken.
  SlotMemory slot_memory(uint64_t ticket, const Buffer& buffer);

  // ---- what keepers of tapes must know
  // The keeper of this type, made as Keeper(const Graph&) if there is none yet. Called while nothing replays the graph.
  template <class Keeper>
  Keeper& keeper();
  const RecordedWrites& writes() const noexcept { return writes_; }
  uint32_t slot_count() const noexcept { return n_slots_ == 0 || n_slots_ == shared_slots ? 1 : n_slots_; }
  bool is_observed() const noexcept { return observed_; }

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
  void check_idle() const;
  void check_recording() const;
  void check_instantiated() const {
    if (!instantiated_.load(std::memory_order_acquire)) [[unlikely]]
      fail_not_instantiated();
  }
  [[noreturn]] static void fail_not_instantiated();
  void use(Replayed& object) noexcept;
  void use(SharedObject& object, bool writes) noexcept;
  void remove_from_objects() noexcept;
  void keep(Buffer& buffer) noexcept;
  void append(OperationList&& operations, const Recorder& recorder);
  void give_up(const Recorder& recorder) noexcept;
  void check_operation(int32_t operation) const;
  void change_value(int32_t operation, const char* name, double value);
  void change_whole(int32_t operation, const char* name, uint64_t value);
  void plan_launches() noexcept;
  Launched launch(synfire_stream stream, StreamId where);
  Launched launch_entered(synfire_stream stream, StreamId where);
  Launched launch_checked(synfire_stream stream, StreamId where);
  void launch_captured(synfire_stream stream);
  void check_slot(uint64_t ticket) const;
  void check_produced() const;
  void replay(synfire_stream stream, uint32_t slot, bool captured);
  void count_writes() const noexcept;
  void rebind_indices(Buffer& before, Buffer& now) noexcept;
  void refresh(synfire_stream stream);
  void refresh_for_capture();
  uint32_t most_in_flight() const;
  uint32_t slot_of(uint64_t ticket) const noexcept {
    const uint32_t n = slot_count();
    return n == 1 ? 0 : static_cast<uint32_t>((ticket - 1) % n);  // a division takes longer than the test
  }
  ReplayPlan plan(const OperationList& operations, const Slots& slots);

  // Members that a launch reads, contiguous in memory, because the program's own work between launches leaves the
  // caches cold.
  alignas(64) std::atomic<GraphUse> use_{nullptr};
  std::atomic<bool> instantiated_{false};
  bool looks_closer_ = false;  // a launch has something rare to do: see plan_launches()
  bool observed_ = false;      // callbacks run during launches
  const bool on_host_;         // a launch is the computation
  const uint32_t n_slots_;
  uint32_t most_in_flight_ = 0;                              // replays; 0: any number
  std::atomic<StreamId> last_stream_{&contexts_own_stream};  // of the last launch
  std::atomic<uint64_t> launched_{0};
  std::unique_ptr<Replay> replay_;
  std::vector<Ref<Replayed>> replayed_;
  std::vector<UsedObject> shared_;
  TapeKeepers keepers_;
  std::vector<CountedWrite> counted_;
  GraphValues values_;
  GraphStatistics statistics_;

  Rewrite rewrite_;  // or empty
  Arrange arrange_;  // likewise
  OperationList operations_;
  bool eager_ = false;            // SYNFIRE_GRAPH was 0 when the graph was instantiated
  std::vector<uint32_t> owners_;  // for each entry of the list, its recorded operation
  std::vector<uint8_t> enabled_;  // of the recorded operations
  Transients transients_;         // of the operations
  const std::shared_ptr<Arena> arena_;
  std::vector<Ref<Buffer>> buffers_;
  RecordedWrites writes_;
  PassedOn passed_on_;
  // The places of objects in the lists above, without which recording would take the square of their length.
  AddressIndex replayed_at_, shared_at_, buffers_at_;
  Mutex slots_mutex_;  // held by slot_memory() and rebind(), never by a launch
  std::unique_ptr<Slots> slots_;
  std::atomic<int64_t> last_check_ns_{0};  // when the device was last checked
};

template <class Keeper>
Keeper& Graph::keeper() {
  for (TapeKeeper& keeper : keepers_)
    if (auto* const found = dynamic_cast<Keeper*>(&keeper)) return *found;
  auto made = std::make_unique<Keeper>(*this);
  Keeper& keeper = *made;
  keepers_.add(std::move(made));
  return keeper;
}

template <class Keeper>
Keeper& Recorder::keeper() {
  return graph_.keeper<Keeper>();
}

}  // namespace synfire::core

#endif
