// NVRTC reads what the library contains: kernels of every built-in model, in every storage type and both directions,
// and those of texts, without a GPU and without a header. Skipped where there is no NVRTC.
#include <gtest/gtest.h>
#include <jit/compiler_thread.hpp>
#include <jit/kernel_source.hpp>
#include <jit/nvrtc.hpp>

#include <base/error.hpp>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "texts.hpp"

namespace {

using namespace synfire;
using namespace synfire::jit;

ModelText text_of(TextKind kind, const std::string& text, const char* name) {
  synfire_load_desc desc = SYNFIRE_LOAD_DESC_INIT;
  desc.text = text.c_str();
  desc.name = name;
  return ModelText(kind, desc);
}

ModelText example(TextKind kind, const std::string& name) {
  return text_of(kind, synfire_test::text_at(synfire_test::source_path("docs/examples/models/" + name + ".hpp")),
                 name.c_str());
}

class Nvrtc : public testing::Test {
 protected:
  void SetUp() override {
    try {
      require_nvrtc();
    } catch (const core::Failure& failure) {
      GTEST_SKIP() << failure.text;
    }
  }
  // Compiles for an architecture and returns the code.
  static DeviceCode compiled(const std::string& source, const std::vector<std::string>& expressions, int major = 9,
                             int minor = 0) {
    Progress progress(nullptr, nullptr, 600000000000u);
    try {
      return compile_for_gpu(source, expressions, major, minor, "twin.hpp", progress);
    } catch (const core::Failure& failure) {
      ADD_FAILURE() << failure.text;
      return {};
    }
  }
};

// Instances in which a thread has one neuron, or several adjacent ones.
std::string owning(int width) {
  return "synfire::cuda::Owns<" + std::to_string(width) + ", synfire::cuda::OwnershipKind::adjacent>";
}
std::string forward(const char* storage, int width, const char* outputs) {
  return std::string("synfire::cuda::forward<synfire::model::LoadedModelType, ") + storage + ", " + owning(width) +
         ", synfire::cuda::ForwardOutputs::" + outputs + ">";
}
std::string backward(const char* storage, int width, const char* inputs) {
  return std::string("synfire::cuda::backward<synfire::model::LoadedModelType, synfire::model::LoadedSurrogateType, ") +
         storage + ", " + owning(width) + ", synfire::cuda::BackwardInputs::" + inputs + ">";
}

class NvrtcBuiltIn : public Nvrtc, public testing::WithParamInterface<int32_t> {};
INSTANTIATE_TEST_SUITE_P(Nvrtc, NvrtcBuiltIn,
                         testing::Range(int32_t{SYNFIRE_MODEL_IF}, int32_t{SYNFIRE_MODEL_IZHIKEVICH} + 1));

TEST_P(NvrtcBuiltIn, IsCompiled) {
  const std::string source = kernel_source(nullptr, GetParam(), nullptr, SYNFIRE_SURROGATE_SIGMOID,
                                           "neurons/passes/cuda/passes.cuh", Source::Marks::lines);
  const DeviceCode code = compiled(source, {forward("float", 4, "bits"), backward("float", 1, "spikes")});
  EXPECT_EQ(code.names.size(), 2u);
  EXPECT_EQ(code.code.substr(1, 3), "ELF") << "a cubin";
}

class NvrtcStorage : public Nvrtc {
 protected:
  static std::string source() {
    const ModelText twin = text_of(TextKind::model, synfire_test::twin_text, "twin");
    return kernel_source(&twin, 0, nullptr, SYNFIRE_SURROGATE_ATAN, "neurons/passes/cuda/passes.cuh",
                         Source::Marks::lines);
  }
  static void expect_compiled(const std::vector<std::string>& expressions) {
    EXPECT_EQ(compiled(source(), expressions).names.size(), expressions.size());
  }
};
TEST_F(NvrtcStorage, SixteenBits) {
  expect_compiled({forward("synfire::cuda::F16", 4, "dense"), backward("synfire::cuda::F16", 2, "spikes"),
                   forward("synfire::cuda::Bf16", 1, "time_bits"), backward("synfire::cuda::Bf16", 1, "spikes")});
}
TEST_F(NvrtcStorage, AnyTypeAtRunTime) {
  expect_compiled(
      {forward("synfire::cuda::AnyStorage", 1, "any"), backward("synfire::cuda::AnyStorage", 1, "parameters")});
}
TEST_F(NvrtcStorage, Doubles) {
  expect_compiled({forward("double", 2, "any"), backward("double", 1, "any")});
}
// GPUs without some of the instructions.
TEST_F(NvrtcStorage, SixteenBitsOnOlderGpus) {
  EXPECT_FALSE(compiled(source(), {forward("synfire::cuda::Bf16", 4, "bytes")}, 7, 5).code.empty());
  EXPECT_FALSE(compiled(source(), {forward("synfire::cuda::F16", 4, "bytes")}, 8, 0).code.empty());
}

// docs/examples/models, with its surrogate.
class NvrtcExample : public Nvrtc, public testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Nvrtc, NvrtcExample,
                         testing::Values("klif", "current_based_lif", "adaptive_lif", "izhikevich_2003",
                                         "resonate_and_fire", "conductance_based_lif"),
                         [](const auto& given) { return std::string(given.param); });

TEST_P(NvrtcExample, IsCompiled) {
  const ModelText side_lobes = example(TextKind::surrogate, "side_lobes"), model = example(TextKind::model, GetParam());
  const DeviceCode code =
      compiled(kernel_source(&model, 0, &side_lobes, 0, "neurons/passes/cuda/passes.cuh", Source::Marks::lines),
               {forward("float", 4, "bits"), backward("float", 1, "parameters")});
  EXPECT_EQ(code.names.size(), 2u);
}

TEST_F(Nvrtc, CompilesTextsOfBothKinds) {
  const ModelText three = example(TextKind::model, "conductance_based_lif"),
                  smooth = text_of(TextKind::surrogate, synfire_test::smooth_text, "smooth");
  EXPECT_EQ(compiled(kernel_source(&three, 0, &smooth, 0, "neurons/passes/cuda/passes.cuh", Source::Marks::lines),
                     {forward("float", 1, "bits"), backward("float", 1, "spikes")})
                .names.size(),
            2u);
}

TEST_F(Nvrtc, CompilesTextsInDoublePrecision) {
  const ModelText three = example(TextKind::model, "conductance_based_lif"),
                  smooth = text_of(TextKind::surrogate, synfire_test::smooth_text, "smooth");
  EXPECT_EQ(compiled(kernel_source(&three, 0, &smooth, 0, "neurons/passes/cuda/passes.cuh", Source::Marks::lines),
                     {backward("double", 1, "parameters")})
                .names.size(),
            1u);
}

TEST_F(Nvrtc, CompilesWhatChangesParameters) {
  const ModelText three = example(TextKind::model, "conductance_based_lif"),
                  smooth = text_of(TextKind::surrogate, synfire_test::smooth_text, "smooth");
  EXPECT_EQ(compiled(kernel_source(&three, 0, &smooth, 0, "optimizer/parameter_step.cuh", Source::Marks::lines),
                     {"synfire::cuda::parameter_step<float>", "synfire::cuda::parameter_step<double>"})
                .names.size(),
            2u);
  EXPECT_EQ(compiled(kernel_source(nullptr, SYNFIRE_MODEL_LI, nullptr, 0, "neurons/parameters/parameters_kernels.cuh",
                                   Source::Marks::lines),
                     {"synfire::cuda::set_parameters<float>", "synfire::cuda::update_parameter<double>"})
                .names.size(),
            2u);
}

TEST_F(Nvrtc, SaysWhereTheTextIsWrong) {
  const ModelText broken = text_of(
      TextKind::model, synfire_test::replaced(synfire_test::twin_text, "constants[0], v,", "constants[0], y,"), "twin");
  try {
    Progress progress(nullptr, nullptr, 0);
    compile_for_gpu(kernel_source(&broken, 0, nullptr, 1, "neurons/passes/cuda/forward.cuh", Source::Marks::lines),
                    {forward("float", 1, "bits")}, 9, 0, "twin.hpp", progress);
    FAIL() << "it was compiled";
  } catch (const core::Failure& failure) {
    EXPECT_STREQ(failure.rule, "SYN-MODEL-COMPILE");
    EXPECT_NE(failure.text.find("twin.hpp(30)"), std::string::npos) << failure.text;
  }
}

TEST_F(Nvrtc, EndsAtTheTimeOut) {
  const ModelText twin = text_of(TextKind::model, synfire_test::twin_text, "twin");
  Progress progress(nullptr, nullptr, 1);
  try {
    compile_for_gpu(kernel_source(&twin, 0, nullptr, 1, "neurons/passes/cuda/passes.cuh", Source::Marks::lines),
                    {backward("float", 1, "spikes")}, 9, 0, "twin.hpp", progress);
    FAIL() << "it was compiled";
  } catch (const core::Failure& failure) {
    EXPECT_STREQ(failure.rule, "SYN-MODEL-TIME");
  }
}

// The time-out counts processor time, and the time of a compiler that waits for something.
CompilerThread::Used used_by(bool works) {
  std::atomic<bool> is_over{false};
  std::mutex asleep;
  asleep.lock();
  CompilerThread thread([&] {
    if (works)
      while (!is_over) {
      }
    else
      const std::lock_guard waiting(asleep);
  });
  CompilerThread::Used used;
  do {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    used = thread.look();
  } while (used.total() < std::chrono::milliseconds(200));
  is_over = true;
  asleep.unlock();
  thread.join();
  return used;
}

TEST(CompilerThreads, CountWorkAndWaiting) {
  const CompilerThread::Used working = used_by(true);
  EXPECT_GT(working.processor, working.idle);
  EXPECT_FALSE(working.is_idle);
  const CompilerThread::Used waiting = used_by(false);
  EXPECT_LT(waiting.processor, waiting.idle);
  EXPECT_TRUE(waiting.is_idle);
}

// A GPU's kernels are compiled from what the library contains, which a model of a build's own is not part of.
TEST(KernelSource, RefusesModelsThatABuildAdded) {
  try {
    kernel_source(nullptr, 1000, nullptr, 1, "neurons/passes/cuda/passes.cuh", Source::Marks::lines);
    FAIL() << "it was written";
  } catch (const core::Failure& failure) {
    EXPECT_EQ(failure.status, SYNFIRE_ERROR_UNSUPPORTED);
    EXPECT_STREQ(failure.rule, "SYN-MODEL-PLATFORM");
  }
}

TEST(WithoutNvrtc, TheErrorSaysWhatToInstall) {
  ::setenv("SYNFIRE_NVRTC", "/nowhere/libnvrtc.so", 1);
  try {
    require_nvrtc();  // unless an earlier test has loaded it: each test is a process of its own
  } catch (const core::Failure& failure) {
    EXPECT_EQ(failure.status, SYNFIRE_ERROR_UNSUPPORTED);
    EXPECT_STREQ(failure.rule, "SYN-MODEL-COMPILER");
    EXPECT_NE(failure.text.find("libnvrtc"), std::string::npos) << failure.text;
    return;
  }
  GTEST_SKIP() << "NVRTC was loaded before";
}

}  // namespace
