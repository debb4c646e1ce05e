// The functions of synfire.h for models and surrogates that are loaded at run time, and for a layer's kernels as text.
#include "held.hpp"

#include <jit/layer_source.hpp>
#include <jit/load_model.hpp>

#include <cstdio>

namespace {

using namespace synfire;
using namespace synfire::capi;

using HeldModel = Held<jit::Model>;
using HeldSurrogate = Held<jit::Surrogate>;

HeldModel held_model(synfire_model handle) {
  return {value_of(handle), "model", core::ObjectType::model};
}
HeldSurrogate held_surrogate(synfire_surrogate handle) {
  return {value_of(handle), "surrogate", core::ObjectType::surrogate};
}

synfire_load_desc checked_desc(const synfire_load_desc* desc) {
  check_pointer(desc, "desc");
  const synfire_load_desc checked = read_descriptor(desc, "desc");
  check_flag(checked.no_cache, "SYN-MODEL-FLAG", "desc.no_cache");
  return checked;
}

template <class Loaded>
synfire_load_info info_of(const Loaded& loaded, int32_t n_states) {
  synfire_load_info info = SYNFIRE_LOAD_INFO_INIT;
  info.id = loaded.row().id;
  info.n_states = n_states;
  info.n_parameters = static_cast<int32_t>(loaded.row().parameters.size());
  info.from_cache = loaded.facts().from_cache ? 1 : 0;
  info.nanoseconds = loaded.facts().nanoseconds;
  std::snprintf(info.name, sizeof info.name, "%s", loaded.row().name);
  return info;
}

template <class Loaded>
void check(Loaded& loaded, uint64_t seed, uint64_t n_samples, synfire_check_report* report) {
  const Answer out(report, "report");
  constexpr uint64_t most = 10000000;
  if (n_samples < 1 || n_samples > most)
    core::fail_argument("SYN-MODEL-SAMPLES", "n_samples is %llu; 1 to %llu are allowed",
                        static_cast<unsigned long long>(n_samples), static_cast<unsigned long long>(most));
  synfire_check_report answer = SYNFIRE_CHECK_REPORT_INIT;
  loaded.check(seed, n_samples, answer);
  out.write(answer);
}

}  // namespace

extern "C" {

synfire_status SYNFIRE_CALL synfire_model_load(synfire_context context, const synfire_load_desc* desc,
                                               synfire_model* model) noexcept {
  return guarded(__func__, [&] {
    check_pointer(model, "model");
    *model = nullptr;
    core::drain();
    const auto owner = held(context);
    *model = registered<synfire_model>(
        core::charged_as(SYNFIRE_TAG_MODEL, [&] { return jit::load_model(*owner, checked_desc(desc)); }));
    return SYNFIRE_OK;
  });
}

void SYNFIRE_CALL synfire_model_destroy(synfire_model model) noexcept {
  if (const Hold found = hold(value_of(model), core::ObjectType::model); found.object) {
    core::free_name(*static_cast<core::LoadedModel*>(found.object));
    end_hold(*found.slot);
  }
  capi::remove(value_of(model), core::ObjectType::model);
}

synfire_status SYNFIRE_CALL synfire_model_get_info(synfire_model model, synfire_load_info* info) noexcept {
  return guarded(__func__, [&] {
    const auto found = held_model(model);
    const Answer out(info, "info");
    out.write(info_of(*found, found->row().n_states));
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_model_check(synfire_model model, uint64_t seed, uint64_t n_samples,
                                                synfire_check_report* report) noexcept {
  return guarded(__func__, [&] {
    check(*held_model(model), seed, n_samples, report);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_surrogate_load(synfire_context context, const synfire_load_desc* desc,
                                                   synfire_surrogate* surrogate) noexcept {
  return guarded(__func__, [&] {
    check_pointer(surrogate, "surrogate");
    *surrogate = nullptr;
    core::drain();
    const auto owner = held(context);
    *surrogate = registered<synfire_surrogate>(
        core::charged_as(SYNFIRE_TAG_MODEL, [&] { return jit::load_surrogate(*owner, checked_desc(desc)); }));
    return SYNFIRE_OK;
  });
}

void SYNFIRE_CALL synfire_surrogate_destroy(synfire_surrogate surrogate) noexcept {
  if (const Hold found = hold(value_of(surrogate), core::ObjectType::surrogate); found.object) {
    core::free_name(*static_cast<core::LoadedSurrogate*>(found.object));
    end_hold(*found.slot);
  }
  capi::remove(value_of(surrogate), core::ObjectType::surrogate);
}

synfire_status SYNFIRE_CALL synfire_surrogate_get_info(synfire_surrogate surrogate, synfire_load_info* info) noexcept {
  return guarded(__func__, [&] {
    const auto found = held_surrogate(surrogate);
    const Answer out(info, "info");
    out.write(info_of(*found, 0));
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_surrogate_check(synfire_surrogate surrogate, uint64_t seed, uint64_t n_samples,
                                                    synfire_check_report* report) noexcept {
  return guarded(__func__, [&] {
    check(*held_surrogate(surrogate), seed, n_samples, report);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_layer_source(synfire_layer layer, char* text, uint64_t* bytes) noexcept {
  return guarded(__func__, [&] {
    check_pointer(bytes, "bytes");
    const std::string source = jit::layer_source(*held(layer));
    const uint64_t needed = source.size() + 1;
    if (text && *bytes < needed)
      core::fail_argument("SYN-TEXT-SIZE", "bytes is %llu; the text needs %llu",
                          static_cast<unsigned long long>(*bytes), static_cast<unsigned long long>(needed));
    if (text) std::memcpy(text, source.c_str(), needed);
    *bytes = needed;
    return SYNFIRE_OK;
  });
}

}  // extern "C"
