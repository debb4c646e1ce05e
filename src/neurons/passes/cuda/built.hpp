// The neuron kernels of the build: those of every dtype and model, or of the ones named by SYNFIRE_CUDA_DTYPES and
// SYNFIRE_CUDA_MODELS (cmake/BuiltKernels.cmake).
#ifndef SYNFIRE_NEURONS_PASSES_CUDA_BUILT_HPP
#define SYNFIRE_NEURONS_PASSES_CUDA_BUILT_HPP

#include <backends/cuda/device_types.hpp>

#include <synfire/model/models.hpp>

#ifndef SYNFIRE_CUDA_DTYPES
#define SYNFIRE_CUDA_DTYPES ""
#endif
#ifndef SYNFIRE_CUDA_MODELS
#define SYNFIRE_CUDA_MODELS ""
#endif

namespace synfire::cuda {

// `names` are separated by colons; none contain every name.
constexpr bool contains_name(const char* names, const char* name) {
  if (*names == '\0') return true;
  while (true) {
    int length = 0;
    while (name[length] != '\0' && names[length] == name[length]) ++length;
    if (name[length] == '\0' && (names[length] == '\0' || names[length] == ':')) return true;
    while (*names != '\0' && *names != ':') ++names;
    if (*names == '\0') return false;
    ++names;
  }
}

struct BuiltKernels {
  const char* dtypes = "";
  const char* models = "";

  constexpr bool have_dtype(const char* name) const { return contains_name(dtypes, name); }
  // Models of the application are always built.
  constexpr bool have_model(int32_t id, const char* name) const {
    return id >= model::first_added_id || contains_name(models, name);
  }
};
inline constexpr BuiltKernels built_kernels = {SYNFIRE_CUDA_DTYPES, SYNFIRE_CUDA_MODELS};

template <class... Entries>
constexpr bool all_exist(model::List<Entries...>, const char* models) {
  int named = *models != '\0' ? 1 : static_cast<int>(sizeof...(Entries));
  for (const char* at = models; *at != '\0'; ++at) named += *at == ':' ? 1 : 0;
  return named == (static_cast<int>(contains_name(models, Entries::type::name)) + ...);
}
static_assert(all_exist(model::BuiltInModels{}, built_kernels.models),
              "SYNFIRE_CUDA_MODELS has a name that no built-in model has");

// Instances whose storage is known at run time are for layers of any dtype but f64.
template <class E>
inline constexpr bool builds_storage = false;
template <>
inline constexpr bool builds_storage<float> = built_kernels.have_dtype("f32");
template <>
inline constexpr bool builds_storage<double> = built_kernels.have_dtype("f64");
template <>
inline constexpr bool builds_storage<F16> = built_kernels.have_dtype("f16");
template <>
inline constexpr bool builds_storage<Bf16> = built_kernels.have_dtype("bf16");
template <>
inline constexpr bool builds_storage<AnyStorage> = builds_storage<float> || builds_storage<F16> || builds_storage<Bf16>;

template <class E, class F>
void visit_built(int32_t id, F f) {
  if constexpr (builds_storage<E>)
    model::visit(model::Models{}, id, [&](auto entry) {
      using Entry = decltype(entry);
      if constexpr (built_kernels.have_model(Entry::id, Entry::type::name)) f(entry);
    });
}

}  // namespace synfire::cuda

#endif
