// The neurons of docs/examples/models, built in by synfire_add_model: the bits that tests/jit finds when they are
// loaded as text, and the textbook's formulas.
#include "examples.hpp"

namespace synfire_test {
namespace {

TEST(Examples, BuiltInHaveTheBitsOfTheRecord) {
  const Context context = make_context();
  int32_t side_lobes = -1;
  ASSERT_OK(synfire_surrogate_id("side_lobes", &side_lobes));
  for (const Example& example : examples()) {
    int32_t model = -1;
    ASSERT_OK(synfire_model_id(example.name, &model));
    const bool with_added = std::string_view(example.name) == "klif";
    expect_example(context, example, model, with_added ? side_lobes : int32_t{SYNFIRE_SURROGATE_SIGMOID});
  }
}

}  // namespace
}  // namespace synfire_test
