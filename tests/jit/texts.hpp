// Texts to load, and how to load them.
#ifndef SYNFIRE_TESTS_JIT_TEXTS_HPP
#define SYNFIRE_TESTS_JIT_TEXTS_HPP

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "../capi/support.hpp"

namespace synfire_test {

inline std::string source_path(const std::string& path) {
  return std::string(SYNFIRE_TEST_SOURCE "/") + path;
}
inline std::string text_at(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

// LIF as a user would write it down, under another name.
inline const std::string twin_text = R"(// LIF again.
#include <synfire/model/dual.hpp>
#include <synfire/model/layout.hpp>

SYNFIRE_MODEL_BEGIN

struct Twin {
  static constexpr const char* name = "twin";
  static constexpr int n_states = 1;
  static constexpr int n_parameters = 2;
  static constexpr int n_constants = 3;
  static constexpr double default_v_reset = 0.0;
  static constexpr bool has_input_decay = true;
  static constexpr bool slope_reads_input = false;
  static constexpr ParameterSpec parameters[n_parameters] = {
      {"tau", 2.0, 0.0, unbounded, true, nullptr, "steps"},
      {"v_rest", 0.0, -unbounded, unbounded, false, nullptr, "potential"},
  };

  template <class T>
  static SYNFIRE_MODEL_FN void derive(const T* values, bool undecayed_input, T* constants) {
    const T reciprocal_tau = inverse(values[0]), v_rest = values[1], one = Lift<T>::from(1.0);
    constants[0] = one - reciprocal_tau;
    constants[1] = undecayed_input ? one : reciprocal_tau;
    constants[2] = v_rest * reciprocal_tau;
  }

  template <class C, class V, class X>
  static SYNFIRE_MODEL_FN auto charge(const C* constants, V v, X x) {
    return fma(constants[0], v, fma(constants[1], x, constants[2]));
  }
};

SYNFIRE_MODEL_END
)";

// The sigmoid by its smooth spike.
inline const std::string smooth_text = R"(#include <synfire/model/dual.hpp>
#include <synfire/model/layout.hpp>

SYNFIRE_MODEL_BEGIN

struct Smooth {
  static constexpr const char* name = "smooth";
  static constexpr int n_parameters = 1;
  static constexpr int n_constants = 2;
  static constexpr ParameterSpec parameters[n_parameters] = {{"steepness", 4.0, 0.0, 1e6, true}};

  static SYNFIRE_MODEL_FN void derive(const double* values, double* constants) {
    constants[0] = values[0];
    constants[1] = 1.0;
  }
  template <class C, class X>
  static SYNFIRE_MODEL_FN auto primitive(const C* c, X x) {
    return reciprocal(c[1] + exponential(-(c[0] * x)));
  }
};

SYNFIRE_MODEL_END
)";

// Texts are compiled by the compiler with little optimisation that CTest names in SYNFIRE_CXX, and within this scope as
// the library compiles them for its users. Where SYNFIRE_TEST_FULL_CXX is unset, there is one compiler only.
class FullCompiler {
 public:
  FullCompiler() {
    if (const char* const quick = std::getenv("SYNFIRE_CXX")) quick_ = quick;
    if (const char* const full = std::getenv("SYNFIRE_TEST_FULL_CXX")) set_environment("SYNFIRE_CXX", full);
  }
  ~FullCompiler() { set_environment("SYNFIRE_CXX", quick_ ? quick_->c_str() : nullptr); }
  FullCompiler(const FullCompiler&) = delete;
  FullCompiler& operator=(const FullCompiler&) = delete;

 private:
  std::optional<std::string> quick_;
};

// In the cache that all tests share, so that each text is compiled once.
inline synfire_load_desc load_desc(const std::string& text, const char* name) {
  static const std::string cache = SYNFIRE_TEST_CACHE;
  synfire_load_desc desc = SYNFIRE_LOAD_DESC_INIT;
  desc.text = text.c_str();
  desc.name = name;
  desc.cache = cache.c_str();
  desc.time_out = 300000000000u;
  return desc;
}

inline Model load_model(synfire_context context, const synfire_load_desc& desc) {
  synfire_model model = nullptr;
  EXPECT_OK(synfire_model_load(context, &desc, &model));
  return Model(model);
}
inline Surrogate load_surrogate(synfire_context context, const synfire_load_desc& desc) {
  synfire_surrogate surrogate = nullptr;
  EXPECT_OK(synfire_surrogate_load(context, &desc, &surrogate));
  return Surrogate(surrogate);
}
inline Model load_file(synfire_context context, const std::string& path) {
  synfire_load_desc desc = load_desc("", nullptr);
  desc.text = nullptr;
  desc.file = path.c_str();
  return load_model(context, desc);
}

inline synfire_load_info info_of(synfire_model model) {
  synfire_load_info info = SYNFIRE_LOAD_INFO_INIT;
  EXPECT_OK(synfire_model_get_info(model, &info));
  return info;
}
inline synfire_load_info info_of(synfire_surrogate surrogate) {
  synfire_load_info info = SYNFIRE_LOAD_INFO_INIT;
  EXPECT_OK(synfire_surrogate_get_info(surrogate, &info));
  return info;
}
template <class Loaded>
int32_t id_of(const Loaded& loaded) {
  return info_of(loaded.get()).id;
}

}  // namespace synfire_test

#endif
