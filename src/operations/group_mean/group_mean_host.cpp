#include "group_mean_arrays_of.hpp"

#include <backends/host/host_launcher.hpp>
#include <backends/host/host_storage.hpp>

namespace synfire::operations {

using namespace synfire::core;
namespace formats = synfire::host::SYNFIRE_MODEL_LEVEL;

namespace {

// Below this many elements the calling thread works alone.
constexpr int64_t group_mean_parallel_threshold = 1 << 17;

int64_t work_of(const GroupMeanArrays& arrays) {
  return arrays.n_steps * arrays.n_elements();
}

// Calls f(from, to) for the first element of each of the groups [begin, end).
template <class From, class To, class F>
void for_each_group(const GroupMeanArrays& arrays, int64_t from_size, int64_t to_size, int64_t begin, int64_t end,
                    F f) {
  int64_t step = begin / arrays.n_groups, group = begin % arrays.n_groups;
  for (int64_t i = begin; i < end; ++i) {
    f(static_cast<const From*>(arrays.from) + step * arrays.from_pitch + group * from_size,
      static_cast<To*>(arrays.to) + step * arrays.to_pitch + group * to_size);
    if (++group == arrays.n_groups) {
      group = 0;
      ++step;
    }
  }
}

template <class From, class To>
void means(const GroupMeanArrays& arrays, int64_t begin, int64_t end) {
  using R = formats::Arithmetic<To>;
  for_each_group<From, To>(arrays, arrays.size, 1, begin, end, [&](const From* from, To* to) {
    R sum = 0;
    for (int64_t i = 0; i < arrays.size; ++i) sum += formats::decode(from[i]);
    *to = formats::encode<To>(sum / static_cast<R>(arrays.size));
  });
}

template <class From, class To>
void gradients(const GroupMeanArrays& arrays, int64_t begin, int64_t end) {
  using R = formats::Arithmetic<To>;
  for_each_group<From, To>(arrays, 1, arrays.size, begin, end, [&](const From* from, To* to) {
    const R share = formats::decode(*from) / static_cast<R>(arrays.size);
    for (int64_t i = 0; i < arrays.size; ++i)
      to[i] = formats::encode<To>(arrays.add ? formats::decode(to[i]) + share : share);
  });
}

// Calls work(type of `from`, type of `to`, begin, end) for ranges of groups.
template <class Work>
void for_all_groups(const GroupMeanArrays& arrays, bool share, host::Launcher& launcher, Work work) {
  launcher.for_each_range(arrays.n_steps * arrays.n_groups, share, [&](int64_t begin, int64_t end) {
    with_element_type(formats::NumberTypes{}, arrays.from_dtype, [&](auto from) {
      using R = formats::Arithmetic<typename decltype(from)::Type>;
      with_element_type(formats::NumberTypesBeside<R>{}, arrays.to_dtype, [&](auto to) { work(from, to, begin, end); });
    });
  });
}

}  // namespace

bool wants_threads(const GroupMean& op) {
  return work_of(arrays_of(op)) >= group_mean_parallel_threshold;
}
bool wants_threads(const GroupMeanBackward& op) {
  return work_of(arrays_of(op)) >= group_mean_parallel_threshold;
}

void run(const GroupMean& op, host::Launcher& launcher) {
  const GroupMeanArrays arrays = arrays_of(op);
  for_all_groups(arrays, wants_threads(op), launcher, [&](auto from, auto to, int64_t begin, int64_t end) {
    means<typename decltype(from)::Type, typename decltype(to)::Type>(arrays, begin, end);
  });
}

void run(const GroupMeanBackward& op, host::Launcher& launcher) {
  const GroupMeanArrays arrays = arrays_of(op);
  for_all_groups(arrays, wants_threads(op), launcher, [&](auto from, auto to, int64_t begin, int64_t end) {
    gradients<typename decltype(from)::Type, typename decltype(to)::Type>(arrays, begin, end);
  });
}

}  // namespace synfire::operations
