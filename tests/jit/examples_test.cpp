// The neurons and the surrogate of docs/examples/models, loaded as text: the bits of the same ones built in
// (tests/added), on the backend under test; gradients that synfire_model_check() finds right; vectorised loops.
#include "../added/examples.hpp"
#include "texts.hpp"

namespace synfire_test {
namespace {

std::string example_path(const std::string& name) {
  return source_path("docs/examples/models/" + name + ".hpp");
}
Surrogate load_side_lobes(synfire_context context) {
  const std::string path = example_path("side_lobes");
  synfire_load_desc desc = load_desc("", nullptr);
  desc.text = nullptr;
  desc.file = path.c_str();
  return load_surrogate(context, desc);
}

void expect_right(const synfire_check_report& report) {
  EXPECT_LE(report.largest_error, 1e-6) << report.text;
  EXPECT_EQ(report.n_non_finite, 0u);
  EXPECT_EQ(report.wrong_slope_reads_input, 0);
  EXPECT_EQ(report.wrong_slope_reads_w, 0);
  EXPECT_GT(report.n_loops, 0);
  EXPECT_EQ(report.n_vectorized, report.n_loops) << report.text;
}

class Examples : public testing::TestWithParam<size_t> {
 protected:
  const Context context = make_context();
  const Example& example = examples()[GetParam()];
};
INSTANTIATE_TEST_SUITE_P(Each, Examples, testing::Range<size_t>(0, 6),
                         [](const auto& given) { return std::string(examples()[given.param].name); });

// That the compiler of a user's machine, with all its optimisation, gives the bits of a built-in model is shown by
// Loaded.HasTheBitsOfTheBuiltInModel, and for these formulas by tests/added.
TEST_P(Examples, LoadedHasTheBitsOfTheRecord) {
  const Model model = load_file(context, example_path(example.name));
  EXPECT_EQ(info_of(model).n_states, static_cast<int32_t>(1 + example.further.size()));
  EXPECT_EQ(info_of(model).n_parameters, static_cast<int32_t>(example.parameters.size()));
  if (std::string_view(example.name) == "klif")
    expect_example(context, example, id_of(model), id_of(load_side_lobes(context)));
  else
    expect_example(context, example, id_of(model), SYNFIRE_SURROGATE_SIGMOID);
}

TEST_P(Examples, ACheckFindsNothing) {
  if (!sampled(GetParam())) GTEST_SKIP() << "not in the sample";
  const FullCompiler compiler;
  const Model model = load_file(context, example_path(example.name));
  synfire_check_report report = SYNFIRE_CHECK_REPORT_INIT;
  ASSERT_OK(synfire_model_check(model, 1, 300, &report));
  expect_right(report);
}

TEST(ExampleSurrogate, ACheckFindsNothing) {
  const Context context = make_context();
  const FullCompiler compiler;
  const Surrogate side_lobes = load_side_lobes(context);
  synfire_check_report report = SYNFIRE_CHECK_REPORT_INIT;
  ASSERT_OK(synfire_surrogate_check(side_lobes, 1, 300, &report));
  expect_right(report);
}

TEST(ExampleList, IsWhole) {
  EXPECT_EQ(examples().size(), 6u);
}

}  // namespace
}  // namespace synfire_test
