// A network: a design that grows stage by stage, then its parts and graphs, and their uses.
#ifndef SYNFIRE_NETWORK_NETWORK_HPP
#define SYNFIRE_NETWORK_NETWORK_HPP

#include "data_stream.hpp"
#include "parts.hpp"
#include "rank_call.hpp"
#include "saved.hpp"

#include <base/context.hpp>
#include <base/function_ref.hpp>

#include <atomic>
#include <memory>
#include <vector>

namespace synfire::network {

enum class DataKind : int32_t { training = SYNFIRE_DATA_TRAINING, evaluation = SYNFIRE_DATA_EVALUATION };

class Network final : public core::Child {
 public:
  Network(core::Context& context, const NetworkRules& rules)
      : Child(core::ObjectType::network, context), design_(rules) {}
  Network(core::Context& context, Design&& design)
      : Child(core::ObjectType::network, context), design_(std::move(design)) {}

  // All throw BUSY if another thread uses the network, WRONG_ORDER if it is built or is not yet, and INVALID_ARGUMENT.

  // ---- the design
  void change(core::FunctionRef<void(Design&)> body);
  void set_value(const char* stage, const char* name, double value);
  double get_value(const char* stage, const char* name);
  void query_memory(synfire_network_memory& memory);

  // ---- building
  void build();
  void set_data(DataKind kind, int64_t n_rows, const DataArrays& arrays);
  void set_arrays(DataKind kind, int64_t n_rows, std::span<const GivenArray> arrays);
  void open_data(DataKind kind, std::span<const GivenFile> given, const StreamRules& rules);

  // ---- running; all block until done
  // The results of single losses are those of the stages that they name.
  void train(int64_t n_batches, synfire_network_result& result, std::span<synfire_stage_result> of_stages = {});
  void evaluate(synfire_network_result& result, std::span<synfire_stage_result> of_stages = {});
  // This rank makes a call with arguments that it refuses: it is an error on the others too.
  void tell_refusal(ranks::Call call) noexcept;
  // With one input and one output.
  void infer(Buffer& inputs, int64_t n_rows, Buffer& outputs);
  // With all inputs, and any outputs.
  void infer(std::span<const GivenArray> arrays, int64_t n_rows);
  void reset_state();
  // The same for some batch rows.
  void reset_rows(int64_t first_row, int64_t n_rows);

  // ---- files
  // Calls the function with a writer of the whole network, which reads the device while it writes.
  void save(core::FunctionRef<void(const files::SafetensorsWriter&)> write);
  // The network becomes that of the file, or stays as it is.
  void load(const files::SafetensorsFile& file);
  // Arrays of any file; fills in which were loaded. With `leave_out`, those that the file lacks or has in another shape
  // are not.
  void load_arrays(const files::SafetensorsFile& file, std::span<synfire_array_source> sources, bool leave_out);
  // load() for a network that nobody else has yet.
  void load_first(const files::SafetensorsFile& file, const SavedNetwork& whole);

  // ---- monitors
  // What a stage with a monitor has seen. With `restart`, it begins anew.
  void read_monitor(const char* stage, bool restart, synfire_network_monitor& monitor);

  // ---- parts
  // The object of a stage of one of these kinds.
  Ref<core::Object> object(const char* stage, std::span<const StageKind* const> kinds);
  Ref<core::Graph> graph(GraphKind kind);
  Ref<Buffer> buffer(const char* name);

  // ---- seeing inside
  std::string summary();
  std::string dot();

 private:
  // Held by one thread at a time; others get BUSY. Throws OUT_OF_MEMORY if undone work of earlier calls cannot be done.
  class Use {
   public:
    explicit Use(Network& network);
    ~Use() { in_use_.store(false, std::memory_order_release); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    std::atomic<bool>& in_use_;
  };

  struct Before {
    Before(std::vector<std::byte>&& file_bytes, const core::Context& context)
        : bytes(std::move(file_bytes)),
          file(files::SafetensorsFile::from_memory(bytes)),
          saved(read_metadata(file, context)) {}

    const std::vector<std::byte> bytes;
    const files::SafetensorsFile file;
    const SavedNetwork saved;
  };

  ~Network() override = default;
  // Holds all graphs of the network, replaced ones included.
  void hold_all(HeldGraphs& held);
  // Throws WRONG_ORDER while a replay with a layer of the network may be running on another stream.
  void check_order() const;
  void check_built() const;
  void check_not_built() const;
  const RecordedGraph& checked_graph(GraphKind kind) const;
  void apply_value(const HeldGraphs& held, size_t stage, const char* name, double value);
  uint64_t data_bytes() const noexcept;
  void take_arrays(DataKind kind, int64_t n_rows, core::FunctionRef<NeededArrays()> arrays);
  // `make` makes the new data, or new contents of the memory of the current ones.
  void take_data(DataKind kind, core::FunctionRef<DataSet(DataSet&, RankCall&)> make);
  int64_t batches_per_epoch() const noexcept;
  // Runs a body that changes states of neurons and random numbers of the inference graph; restores both if it throws.
  void with_state_kept(const HeldGraphs& held, core::FunctionRef<void()> body);
  // Counts launched batches. Sums over batches are in the parts' scores.
  void run_batches(const HeldGraphs& held, GraphKind kind, int64_t n_batches, uint64_t& n_launched) const;
  void take_counts() const;
  void clear_sums() const;
  void clear_monitors() const;
  void count_rows(int64_t n_rows) const;
  void read_sums(const RankCall& together, uint64_t n_batches, synfire_network_result& result,
                 std::span<synfire_stage_result> of_stages = {}) const;
  void read_progress(const HeldGraphs& held, synfire_network_result& result) const;
  class Rows;
  struct RowsOfArrays;
  void infer_rows(RowsOfArrays& rows, int64_t n_rows);
  void train_batches(const HeldGraphs& held, int64_t n_batches, uint64_t& n_launched);
  void reset_layers() const;
  void reset_afterwards();
  void settle();
  void settle(const HeldGraphs& held);
  Position position(const HeldGraphs& held) const;
  files::SafetensorsWriter writer(const HeldGraphs& held) const;
  // Ranks that train or evaluate together have the same of this: of the design, of what is learnt, and of the position.
  uint64_t contents(const HeldGraphs& held) const;
  void compare(RankCall& together, const HeldGraphs& held, int64_t n_batches);
  void check_loadable(const files::SafetensorsFile& file, const SavedNetwork& saved) const;
  void take_back(const HeldGraphs& held) noexcept;
  void apply(const HeldGraphs& held, const files::SafetensorsFile& file, const SavedNetwork& saved);
  void apply_values(const HeldGraphs& held) const;
  Parts::Offsets position_of(const SavedNetwork& saved) const;
  void apply_position(const HeldGraphs& held, const SavedNetwork& saved) const;

  std::atomic<bool> in_use_{false};
  Design design_;
  DataSet training_, evaluation_;
  std::unique_ptr<Parts> parts_;  // null: not built
  // Graphs that data of another shape have replaced, and that the program may still have.
  std::vector<core::WeakRef<core::Graph>> replaced_;
  // Work that calls before have left undone for lack of memory:
  std::unique_ptr<Before> owed_;  // not null: a load has failed, and this is what must be put back
  bool kept_owed_ = false;        // the states of neurons must be put back
  bool reset_owed_ = false;       // the layers' states must be those of new layers
  bool has_compared_ = false;     // the ranks have compared all that is learnt, and nothing has replaced it since
};

// Choices that a file does not make.
struct FileRules {
  bool inference;          // without what only training needs
  bool replace_nonfinite;  // even if the file's network does not
  int64_t n_steps, batch;  // 0: those of the file
  uint32_t n_slots;        // likewise
  const char* keep;        // names for keep(); null: none
  bool continues;          // readouts continue, as far as they can

  explicit FileRules(const synfire_network_file_desc& desc);
};
// The built network of a file. The caller takes the reference.
Network* create_from_file(core::Context& context, const files::SafetensorsFile& file, const FileRules& rules);

}  // namespace synfire::network

#endif
