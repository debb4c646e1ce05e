// Writes the CUDA C++ of a layer's kernels (synfire_layer_source()) for layer_source_kernels.cu: export_source FILE.
#include <synfire/synfire.h>

#include <cstdio>
#include <string>

#include "exported_layer.hpp"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  synfire_context context = nullptr;
  synfire_context_desc on_host = SYNFIRE_CONTEXT_DESC_INIT;
  on_host.backend = SYNFIRE_BACKEND_HOST;
  synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
  desc.n_steps = exported::n_steps;
  desc.batch = exported::batch;
  desc.n_neurons = exported::n_neurons;
  desc.surrogate = SYNFIRE_SURROGATE_ATAN;
  synfire_layer layer = nullptr;
  uint64_t bytes = 0;
  if (synfire_context_create(&on_host, &context) != SYNFIRE_OK ||
      synfire_layer_create(context, &desc, &layer) != SYNFIRE_OK ||
      synfire_layer_set_parameter(layer, "tau", &exported::tau, 1) != SYNFIRE_OK ||
      synfire_layer_source(layer, nullptr, &bytes) != SYNFIRE_OK)
    return 1;
  std::string text(bytes, '\0');
  if (synfire_layer_source(layer, text.data(), &bytes) != SYNFIRE_OK) return 1;
  synfire_layer_destroy(layer);
  synfire_context_destroy(context);
  std::FILE* const file = std::fopen(argv[1], "wb");
  if (!file) return 1;
  const bool written = std::fwrite(text.data(), 1, bytes - 1, file) == bytes - 1;
  return std::fclose(file) == 0 && written ? 0 : 1;
}
