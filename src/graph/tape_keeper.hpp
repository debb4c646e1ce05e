// The interface of keepers, which keep tapes of the results of a graph's operations and refuse stale ones. A graph has
// a keeper for each room that has tapes, made with the first operation that needs it (Recorder::keeper).
#ifndef SYNFIRE_GRAPH_TAPE_KEEPER_HPP
#define SYNFIRE_GRAPH_TAPE_KEEPER_HPP

#include <synfire/synfire.h>

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace synfire::core {

class Buffer;
class Graph;
class Launching;

class TapeKeeper {
 public:
  TapeKeeper() = default;
  TapeKeeper(const TapeKeeper&) = delete;
  TapeKeeper& operator=(const TapeKeeper&) = delete;
  virtual ~TapeKeeper() = default;

  // ---- recording
  // While an operation is made, the keeper takes notes and makes room for them; commit() makes the notes part of the
  // graph, drop() drops them.
  virtual void commit() noexcept = 0;
  virtual void drop() noexcept = 0;

  // ---- between replays
  // Called before the first plan, for which it makes room. Throws if replays of the graph could not use a tape.
  virtual void instantiate() = 0;
  // Computes what launches check, stamp and leave, given the operations that are enabled: when the graph is
  // instantiated, and after every change.
  virtual void plan(std::span<const uint8_t> enabled) noexcept = 0;
  // Operations use `now` in place of `before`. The graph plans after it.
  virtual void rebind(Buffer& before, Buffer& now) noexcept = 0;

  // ---- launches
  // True if a launch has something to check, as planned.
  bool checks() const noexcept { return checks_; }
  // Called before a launch has done anything. Throws if a tape from before the replay is stale.
  virtual void check() const = 0;
  // Runs a launch once the host's changes are on their way to the device; KeeperOf makes it one indirect call.
  virtual void launch(Launching& launching) = 0;
  // Called before an operation of a replay that runs on the launching thread and calls back. Throws if a callback has
  // made the operation's tape stale.
  virtual void before(uint32_t operation) = 0;

 protected:
  bool checks_ = false;

 private:
  friend class TapeKeepers;
  friend class Launching;
  std::unique_ptr<TapeKeeper> next_;
};

// The keepers of a graph in the order of addition, as a list without an array: a launch reads no memory but theirs.
class TapeKeepers {
 public:
  class Iterator {
   public:
    explicit Iterator(TapeKeeper* at) noexcept : at_(at) {}
    TapeKeeper& operator*() const noexcept { return *at_; }
    Iterator& operator++() noexcept {
      at_ = at_->next_.get();
      return *this;
    }
    friend bool operator==(Iterator, Iterator) = default;

   private:
    TapeKeeper* at_;
  };

  Iterator begin() const noexcept { return Iterator(first_.get()); }
  Iterator end() const noexcept { return Iterator(nullptr); }
  TapeKeeper* first() const noexcept { return first_.get(); }
  void add(std::unique_ptr<TapeKeeper> keeper) noexcept {
    std::unique_ptr<TapeKeeper>* last = &first_;
    while (*last) last = &(*last)->next_;
    *last = std::move(keeper);
  }
  void clear() noexcept { first_.reset(); }

 private:
  std::unique_ptr<TapeKeeper> first_;
};

class Launching {
 public:
  // Runs the rest of the launch: other keepers, then the replay, whose writes are counted when it returns or throws.
  void run();
  // True in the caller's capture, which replays nothing now.
  bool captured() const noexcept { return captured_; }

 private:
  friend class Graph;
  Launching(Graph& graph, TapeKeeper* first, synfire_stream stream, uint32_t slot, bool captured) noexcept
      : graph_(graph), next_(first), stream_(stream), slot_(slot), captured_(captured) {}

  Graph& graph_;
  TapeKeeper* next_;
  const synfire_stream stream_;
  const uint32_t slot_;
  const bool captured_;
};

// A keeper, made of functions of Tapes:
//   void stamp() noexcept             notes the versions that tapes will be made from
//   void leave(bool captured)         the replay was launched and its writes counted: it leaves these tapes
//   void spoil() noexcept             the replay has failed and may have run in part: no tape is valid
template <class Tapes>
class KeeperOf : public TapeKeeper {
 public:
  [[gnu::hot]] void launch(Launching& launching) final {
    Tapes& tapes = static_cast<Tapes&>(*this);
    tapes.stamp();
    try {
      launching.run();
    } catch (...) {
      if (!launching.captured()) tapes.spoil();
      throw;
    }
    tapes.leave(launching.captured());
  }
};

}  // namespace synfire::core

#endif
