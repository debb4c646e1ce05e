// The neurons of docs/examples/models, built in by synfire_add_model: the bits that tests/jit finds when they are
// loaded as text, and the textbook's formulas.
#include "examples.hpp"

namespace synfire_test {
namespace {

TEST(Examples, BuiltInHaveTheBitsOfTheRecord) {
  const Context context = make_context();
  int32_t multi_gaussian = -1;
  ASSERT_OK(synfire_surrogate_id("multi_gaussian", &multi_gaussian));
  for (const Example& example : examples()) {
    int32_t model = -1;
    ASSERT_OK(synfire_model_id(example.name, &model));
    const bool with_added = std::string_view(example.name) == "klif";
    expect_example(context, example, model, with_added ? multi_gaussian : int32_t{SYNFIRE_SURROGATE_SIGMOID});
  }
}

}  // namespace
}  // namespace synfire_test
