// FPTT over one tile of neurons, compiled once per instruction level (passes_host_kernels.cpp).
#include "host_rows.hpp"

namespace synfire::host::SYNFIRE_MODEL_LEVEL {
namespace {

// H for a tape in 16 bits.
template <class R>
void keep_finite(R* h, int32_t dtype, int count) {
  if constexpr (sizeof(R) == 4) {
    if (dtype == SYNFIRE_DTYPE_F32) return;
    const float largest = dtype == SYNFIRE_DTYPE_F16 ? largest_f16 : largest_bf16;
    for (int i = 0; i < count; ++i) h[i] = within(largest, h[i]);
  }
}

// A row of a tile is short and the next one is far away, so the processor does not prefetch it by itself. These
// functions do, also for the rows of the next tile and for long rows that will be written.
template <class R>
SYNFIRE_MODEL_FN void prefetch_rows(const ForwardArguments<R>& a, const Tile& tile, int64_t step) {
  const int64_t n_steps = a.extents.n_steps;
  const bool here = step < n_steps;
  if (step >= 2 * n_steps) return;
  const int64_t t = here ? step : step - n_steps, element = here ? tile.element : tile.element + tile.count;
  const int count = here ? tile.count : tile.next;
  prefetch_row<0>(a.x, t, element, count);
  prefetch_row<1>(a.spikes, t, element, count);
  prefetch_row<1>(a.tape_h, t, element, count);
}

template <class Model, class R>
SYNFIRE_MODEL_FN void prefetch_next_state(const ForwardArguments<R>& a, const Tile& tile) {
  const int n_further = stored_states<Model>(a.rules) - 1;
  const int64_t next = tile.element + tile.count;
  prefetch_array<0>(a.v_in, next, tile.next);
  prefetch_array<1>(a.v_out, next, tile.next);
  prefetch_array<1>(a.tape, next, tile.next);
  for (int k = 0; k < n_further; ++k) {
    prefetch_array<0>(a.w_in[k], next, tile.next);
    prefetch_array<1>(a.w_out[k], next, tile.next);
    prefetch_array<1>(a.tape, (k + 1) * a.extents.row() + next, tile.next);
  }
}

// Writes a tile's spikes step by step, dense or packed. Rows have forward_tile numbers, zeros after the neurons' own.
template <class R>
class SpikeWriter {
 public:
  SpikeWriter(const ForwardArguments<R>& a, const Tile& tile)
      : a_(a),
        tile_(tile),
        crosses_rows_(a.extents.n_neurons % 32 != 0 && tile.neuron + tile.count > a.extents.n_neurons) {
    if (!a.spike_bits || !crosses_rows_) return;
    rows_.set(a.extents.n_neurons, tile.neuron, tile.words);
    fill_row(packed_, uint32_t{0}, n_packed);
  }

  void write(int64_t t, const R* spikes) {
    write_exactly(a_.spikes, t, tile_.element, tile_.count, spikes);
    if (a_.spike_bits) write_bits(a_.spike_bits.data + t * a_.spike_bits.pitch + tile_.word, spikes);
    if (a_.spike_time_bits || a_.tape_spikes) write_time_bits(t, spikes);
  }

 private:
  void write_bits(uint32_t* words, const R* spikes) {
    const int packed_words = (tile_.count + 31) / 32, rest = tile_.count % 32;
    if (crosses_rows_) {
      pack_words(packed_, spikes, packed_words);
      rows_.write(words, packed_);
    } else if (rest == 0) {
      pack_words(words, spikes, packed_words);
    } else {
      pack_words(words, spikes, packed_words - 1);
      uint32_t last = 0;
      pack_words(&last, spikes + tile_.count - rest, 1);
      words[packed_words - 1] = last & ((uint32_t{1} << rest) - 1);
    }
  }

  // Writes up to 32 steps.
  void write_time_bits(int64_t t, const R* spikes) {
    const int64_t element = tile_.element;
    pack_step(time_words_, spikes, static_cast<int>(t % 32), whole_vectors<R>(tile_.count));
    if (t % 32 != 31 && t != a_.extents.n_steps - 1) return;
    if (a_.spike_time_bits)
      copy_row(a_.spike_time_bits.data + t / 32 * a_.spike_time_bits.pitch + element, time_words_, tile_.count);
    if (a_.tape_spikes) copy_row(a_.tape_spikes + t / 32 * a_.extents.row() + element, time_words_, tile_.count);
  }

  const ForwardArguments<R>& a_;
  const Tile& tile_;
  const bool crosses_rows_;
  RowWords rows_;
  static constexpr int n_packed = forward_tile / 32 + RowWords::group + 1;
  uint32_t packed_[n_packed];
  uint32_t time_words_[forward_tile];
};

template <class Model, class R, bool PerNeuron>
void forward_tile_of(const ForwardArguments<R>& a, const Tile& tile, R* rows) {
  constexpr int n_further = n_further_states<Model>;
  const Constants<R, first_model_constant + Model::n_constants, PerNeuron> source(*a.parameters, 0, a.extents.n_neurons,
                                                                                  tile);
  const int64_t row = a.extents.row(), element = tile.element;
  const int count = tile.count, lanes = computed<R, PerNeuron>(tile);
  // A layer's own state is advanced where it is, if no vector reaches beyond the tile's neurons.
  const bool in_place = a.v_in == a.v_out && lanes == count;
  R *const v = in_place ? a.v_out + element : rows, *const h = rows + forward_tile, *const spikes = h + forward_tile,
           *const scratch = spikes + forward_tile;
  const int stored = stored_states<Model>(a.rules);
  R* w[max_further_states] = {};
  for (int k = 0; k < n_further; ++k)
    w[k] = in_place && k < stored - 1 ? a.w_out[k] + element : scratch + (k + 1) * forward_tile;
  SpikeWriter<R> spike_writer(a, tile);
  if (!in_place) {
    copy_row(v, a.v_in + element, count);
    fill_row(v + count, R(0), lanes - count);
    for (int k = 0; k < stored - 1; ++k) {
      copy_row(w[k], a.w_in[k] + element, count);
      fill_row(w[k] + count, R(0), lanes - count);
    }
  }
  if constexpr (is_ruled<Model>)
    if (stored < Model::n_states) fill_row(w[n_further - 1], R(0), lanes);
  fill_row(spikes + lanes, R(0), (lanes + 31) / 32 * 32 - lanes);
  if (tile.far) prefetch_next_state<Model>(a, tile);

  for (int64_t t = 0; t < a.extents.n_steps; ++t) {
    if (tile.far) prefetch_rows(a, tile, t + prefetch_ahead);
    if (a.tape && t % checkpoint_interval == 0) {
      R* const checkpoint = a.tape + t / checkpoint_interval * stored * row + element;
      copy_row(checkpoint, v, count);
      for (int k = 0; k < stored - 1; ++k) copy_row(checkpoint + (k + 1) * row, w[k], count);
    }
    const R* const x = input_row<R, PerNeuron>(a.x, a.extents, tile, t, a.x.data != a.tape_h.data, scratch);
    forward_row<Model, R, PerNeuron>(source, a.rules, x, v, w[0], w[1], w[2], h, spikes, lanes);
    if constexpr (!never_fires<Model>) spike_writer.write(t, spikes);
    write_exactly(a.h_seq, t, element, count, h);
    if (a.tape_h) keep_finite(h, a.tape_h.dtype, lanes);
    write_exactly(a.tape_h, t, element, count, h);
    write_exactly(a.v_seq, t, element, count, v);
    for (int k = 0; k < n_further; ++k) write_exactly(a.w_seq[k], t, element, count, w[k]);
  }
  if (a.v_out && !in_place) copy_row(a.v_out + element, v, count);
  if (a.v_final) copy_row(a.v_final + element, v, count);
  for (int k = 0; k < n_further; ++k) {
    if (a.w_out[k] && !in_place) copy_row(a.w_out[k] + element, w[k], count);
    if (a.w_final[k]) copy_row(a.w_final[k] + element, w[k], count);
  }
}

template <class R>
void forward(int32_t model, const ForwardArguments<R>& a, const Tile& tile, R* rows) {
  visit(Models{}, model, [&](auto entry) {
    using Model = typename decltype(entry)::dynamics;
    const auto run = [&]<class Kind>() {
      if (a.parameters->per_neuron)
        forward_tile_of<Kind, R, true>(a, tile, rows);
      else
        forward_tile_of<Kind, R, false>(a, tile, rows);
    };
    if constexpr (!AdaptsThreshold<Model>)
      if (never_fires<Model> || a.rules.are_plain()) return run.template operator()<Model>();
    if constexpr (!never_fires<Model>) run.template operator()<Ruled<Model>>();
  });
}

}  // namespace

void forward_f32(int32_t model, const ForwardArguments<float>& a, const Tile& tile, float* rows) {
  forward(model, a, tile, rows);
}
void forward_f64(int32_t model, const ForwardArguments<double>& a, const Tile& tile, double* rows) {
  forward(model, a, tile, rows);
}

}  // namespace synfire::host::SYNFIRE_MODEL_LEVEL
