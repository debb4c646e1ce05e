#include "input_numbers_twin.hpp"
#include "twin.hpp"

#include <synapses/one_to_one/one_to_one_kernels.hpp>

#include <synfire/model/grid.hpp>

#include <limits>

namespace synfire::cuda {
namespace {

using namespace synfire::model;

// Calls f(row, element, entry, is active) for all elements, in the order of the sums.
template <class F>
void for_each_element(const OneToOneShape& shape, F f) {
  for (int64_t t = 0; t < shape.rows.n_steps; ++t)
    for (int64_t b = 0; b < shape.rows.batch; ++b)
      for (int64_t i = 0; i < shape.n_neurons; ++i) f(RowIndex{t, b}, i, i % shape.n_entries, b < shape.rows.active());
}

template <class R>
void write_gradient(R* to, int64_t entry, R gradient, bool add) {
  to[entry] = add ? to[entry] + gradient : gradient;
}

s32 grid_of_entry(const ExactSumLaunch& launch, int64_t entry) {
  return grid_of_sum(launch.largest[entry], launch.wide ? largest_on_grid_32 : largest_on_grid_24);
}

}  // namespace

template <class R>
const void* one_to_one_product_kernel() {
  return twin<OneToOneProductLaunch<R>>({}, [](const OneToOneProductLaunch<R>& launch) {
    for_each_element(launch.shape, [&](RowIndex row, int64_t i, int64_t entry, bool is_active) {
      const R bias = launch.bias ? launch.bias[entry] : R(0);
      launch.output.row(row)[i] =
          is_active ? fma(launch.weight[entry], number<R>(launch.input, row.t, row.b, i), bias) : R(0);
    });
  });
}
template const void* one_to_one_product_kernel<float>();
template const void* one_to_one_product_kernel<double>();

template <class R>
const void* one_to_one_input_gradient_kernel() {
  return twin<OneToOneInputGradientLaunch<R>>({}, [](const OneToOneInputGradientLaunch<R>& launch) {
    for_each_element(launch.shape, [&](RowIndex row, int64_t i, int64_t entry, bool is_active) {
      R& to = launch.grad_input.row(row)[i];
      const R gradient = is_active ? launch.weight[entry] * launch.grad_output.row(row)[i] : R(0);
      if (is_active || !launch.add) to = launch.add ? to + gradient : gradient;
    });
  });
}
template const void* one_to_one_input_gradient_kernel<float>();
template const void* one_to_one_input_gradient_kernel<double>();

const void* exact_largest_kernel() {
  return twin<ExactSumLaunch>({0}, [](const ExactSumLaunch& launch) {
    for_each_element(launch.shape, [&](RowIndex row, int64_t i, int64_t entry, bool is_active) {
      const uint32_t magnitude = bits_of(launch.grad_output.row(row)[i]) & 0x7FFFFFFFu;
      if (is_active && magnitude > launch.largest[entry]) launch.largest[entry] = magnitude;
    });
  });
}

const void* exact_sum_kernel() {
  return twin<ExactSumLaunch>({1}, [](const ExactSumLaunch& launch) {
    for_each_element(launch.shape, [&](RowIndex row, int64_t i, int64_t entry, bool is_active) {
      if (!is_active) return;
      const int64_t term = on_grid(launch.grad_output.row(row)[i], grid_of_entry(launch, entry));
      if (number<float>(launch.input, row.t, row.b, i) != 0.0f) launch.totals[entry] += term;
      launch.totals[launch.shape.n_entries + entry] += term;
    });
  });
}

const void* exact_finish_kernel() {
  return twin<ExactSumLaunch>({2}, [](const ExactSumLaunch& launch) {
    for (int64_t entry = 0; entry < launch.shape.n_entries; ++entry) {
      const auto gradient = [&](int64_t total) {
        return launch.largest[entry] < 0x7F800000u ? from_wide_grid(total, grid_of_entry(launch, entry))
                                                   : std::numeric_limits<float>::quiet_NaN();
      };
      write_gradient(launch.weight_gradient, entry, gradient(launch.totals[entry]), launch.add);
      if (launch.bias_gradient)
        write_gradient(launch.bias_gradient, entry, gradient(launch.totals[launch.shape.n_entries + entry]),
                       launch.add);
    }
  });
}

const void* one_to_one_contributions_kernel() {
  return twin<ContributionsLaunch>({}, [](const ContributionsLaunch& launch) {
    const OneToOneShape& shape = launch.shape;
    for (int64_t b = 0; b < shape.rows.active(); ++b)
      for (int64_t i = 0; i < shape.n_neurons; ++i) {
        double weight = 0, bias = 0;
        for (int64_t t = shape.rows.n_steps - 1; t >= 0; --t) {
          const auto gradient = static_cast<double>(launch.grad_output.row({t, b})[i]);
          weight = weight + gradient * static_cast<double>(number<float>(launch.input, t, b, i));
          bias = bias + gradient;
        }
        launch.weight[b * shape.n_neurons + i] = static_cast<float>(weight);
        if (launch.bias) launch.bias[b * shape.n_neurons + i] = static_cast<float>(bias);
      }
  });
}

// The terms of each entry, one after the other; block by block into memory.
const void* ordered_blocks_kernel() {
  using R = double;
  return twin<OrderedSumLaunch>({3}, [](const OrderedSumLaunch& launch) {
    const OneToOneShape& shape = launch.shape;
    for (int64_t entry = 0; entry < shape.n_entries; ++entry) {
      int64_t n_terms = 0;
      R chains[2] = {}, blocks[2] = {};
      const auto end_chain = [&] {
        for (int which = 0; which < 2; ++which) {
          blocks[which] += chains[which];
          chains[which] = R(0);
        }
      };
      const auto end_block = [&] {
        const int64_t block = (n_terms - 1) / block_length;
        for (int which = 0; which < 2; ++which) {
          launch.blocks[(which * launch.n_blocks + block) * shape.n_entries + entry] = blocks[which];
          blocks[which] = R(0);
        }
      };
      for_each_element(shape, [&](RowIndex row, int64_t i, int64_t of, bool is_active) {
        if (!is_active || of != entry) return;
        const R gradient = launch.grad_output.row(row)[i];
        chains[0] = fma(gradient, number<R>(launch.input, row.t, row.b, i), chains[0]);
        chains[1] += gradient;
        ++n_terms;
        if (n_terms % chain_length == 0) end_chain();
        if (n_terms % block_length == 0) end_block();
      });
      if (n_terms % block_length == 0) continue;
      if (n_terms % chain_length != 0) end_chain();
      end_block();
    }
  });
}

const void* ordered_finish_kernel() {
  return twin<OrderedSumLaunch>({4}, [](const OrderedSumLaunch& launch) {
    const OneToOneShape& shape = launch.shape;
    const int64_t n_terms = shape.rows.n_steps * shape.rows.active() * shape.n_shares();
    for (int64_t entry = 0; entry < shape.n_entries; ++entry) {
      double totals[2] = {};
      for (int64_t block = 0; block < (n_terms + block_length - 1) / block_length; ++block)
        for (int which = 0; which < 2; ++which)
          totals[which] += launch.blocks[(which * launch.n_blocks + block) * shape.n_entries + entry];
      write_gradient(launch.weight_gradient, entry, totals[0], launch.add);
      if (launch.bias_gradient) write_gradient(launch.bias_gradient, entry, totals[1], launch.add);
    }
  });
}

}  // namespace synfire::cuda
