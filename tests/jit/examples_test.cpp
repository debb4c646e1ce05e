// The neurons and the surrogate of docs/examples/models, loaded as text: the bits of the same ones built in
// (tests/added), on the backend under test; gradients that synfire_model_check() finds right.
#include "../added/examples.hpp"
#include "texts.hpp"

namespace synfire_test {
namespace {

std::string example_path(const std::string& name) {
  return source_path("docs/examples/models/" + name + ".hpp");
}

void expect_right(const synfire_check_report& report, const char* name) {
  EXPECT_LE(report.largest_error, 1e-6) << name << ": " << report.text;
  EXPECT_EQ(report.n_non_finite, 0u) << name;
  EXPECT_EQ(report.wrong_slope_reads_input, 0) << name;
  EXPECT_EQ(report.wrong_slope_reads_w, 0) << name;
  EXPECT_EQ(report.n_vectorized, report.n_loops) << name << ": " << report.text;
}

TEST(Examples, LoadedHaveTheBitsOfTheRecord) {
  const Context context = make_context();
  const std::string path = example_path("multi_gaussian");
  synfire_load_desc desc = load_desc("", nullptr);
  desc.text = nullptr;
  desc.file = path.c_str();
  const Surrogate multi_gaussian = load_surrogate(context, desc);
  synfire_check_report report = SYNFIRE_CHECK_REPORT_INIT;
  ASSERT_OK(synfire_surrogate_check(multi_gaussian, 1, 300, &report));
  expect_right(report, "multi_gaussian");
  for (const Example& example : examples()) {
    const Model model = load_file(context, example_path(example.name));
    EXPECT_EQ(info_of(model).n_states, static_cast<int32_t>(1 + example.further.size()));
    EXPECT_EQ(info_of(model).n_parameters, static_cast<int32_t>(example.parameters.size()));
    const bool with_loaded = std::string_view(example.name) == "klif";
    expect_example(context, example, id_of(model),
                   with_loaded ? id_of(multi_gaussian) : int32_t{SYNFIRE_SURROGATE_SIGMOID});
    ASSERT_OK(synfire_model_check(model, 1, 300, &report));
    expect_right(report, example.name);
  }
}

}  // namespace
}  // namespace synfire_test
