// `synfire-golden --list` agrees with what the library reports: names, order, defaults, ranges, which parameters have
// a gradient, and which can be per neuron. tests/docs/check_tables.py checks the pages that show the list.
#include <gtest/gtest.h>
#include <synfire/synfire.h>

#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "../../tools/golden/list.hpp"
#include "../../tools/names/names.hpp"

namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string without_code(std::string cell) {
  std::erase(cell, '`');
  return cell.substr(0, cell.find(" = "));
}

// The rows of the first table of every block, by the name of the block.
std::map<std::string, Rows> tables() {
  std::map<std::string, Rows> all;
  std::istringstream text(synfire_golden::list_as_markdown());
  std::string line, name;
  for (bool done = false; std::getline(text, line);) {
    if (line.starts_with("<!-- table ")) {
      name = line.substr(11, line.find(" -->") - 11);
      done = false;
    } else if (line.starts_with("| ") && !done) {
      std::vector<std::string> row;
      std::istringstream cells(line.substr(1));
      for (std::string cell; std::getline(cells, cell, '|');)
        row.push_back(without_code(cell.substr(1, cell.size() - 2)));
      if (row[0] != "---") all[name].push_back(row);
    } else if (line.empty() && !all[name].empty()) {
      done = true;
    }
  }
  return all;
}

class Listed : public testing::Test {
 protected:
  static constexpr int64_t n_neurons = 3;

  void SetUp() override {
    synfire_context_desc desc = SYNFIRE_CONTEXT_DESC_INIT;
    desc.backend = SYNFIRE_BACKEND_HOST;
    ASSERT_EQ(synfire_context_create(&desc, &context_), SYNFIRE_OK);
    synfire_buffer_desc buffer = SYNFIRE_BUFFER_DESC_INIT;
    buffer.n_elements = 1;
    ASSERT_EQ(synfire_buffer_create(context_, &buffer, &gradient_), SYNFIRE_OK);
    buffer.n_elements = n_neurons;
    ASSERT_EQ(synfire_buffer_create(context_, &buffer, &x_), SYNFIRE_OK);
  }
  void TearDown() override {
    synfire_buffer_destroy(x_);
    synfire_buffer_destroy(gradient_);
    synfire_context_destroy(context_);
    synfire_context_reclaim(nullptr, nullptr);
  }

  synfire_layer make(int32_t model, int32_t surrogate) {
    synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
    desc.model = model;
    desc.surrogate = surrogate;
    desc.n_steps = 1;
    desc.n_neurons = n_neurons;
    synfire_layer layer = nullptr;
    EXPECT_EQ(synfire_layer_create(context_, &desc, &layer), SYNFIRE_OK);
    return layer;
  }

  // Compares the default, the range as text and the properties of one row with a layer that has the parameter.
  void expect_true(synfire_layer layer, const std::vector<std::string>& row, const std::string& range, bool gradient,
                   bool per_neuron, const synfire_parameter_info* info) {
    SCOPED_TRACE(row[0]);
    const char* const name = row[0].c_str();
    double value = -1;
    ASSERT_EQ(synfire_layer_get_parameter(layer, name, &value, 1), SYNFIRE_OK);
    EXPECT_EQ(std::strtod(row[1].c_str(), nullptr), value);
    if (info != nullptr) {
      EXPECT_EQ(row[0], info->name);
      EXPECT_EQ(range.find("greater than") != std::string::npos, info->open_range != 0) << range;
      for (const double bound : {info->minimum, info->maximum}) {
        if (bound == 1.7976931348623157e308 || bound == -1.7976931348623157e308) continue;
        bool said = false;
        std::istringstream words(range);
        for (std::string word; words >> word;) {
          char* end = nullptr;
          said = said || (std::strtod(word.c_str(), &end) == bound && end != word.c_str());
        }
        EXPECT_TRUE(said) << bound << " is not in \"" << range << '"';
      }
    }
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.x = x_;
    ASSERT_EQ(synfire_layer_forward(layer, &forward, nullptr), SYNFIRE_OK);
    const synfire_parameter_gradient wanted = {name, gradient_};
    synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
    backward.parameter_gradients = &wanted;
    backward.n_parameter_gradients = 1;
    EXPECT_EQ(synfire_layer_backward(layer, &backward, nullptr) == SYNFIRE_OK, gradient);
    const std::vector<double> one_each(n_neurons, value);
    EXPECT_EQ(synfire_layer_set_parameter(layer, name, one_each.data(), n_neurons) == SYNFIRE_OK, per_neuron);
    EXPECT_EQ(synfire_layer_set_parameter(layer, name, &value, 1), SYNFIRE_OK);
  }

  synfire_context context_ = nullptr;
  synfire_buffer gradient_ = nullptr, x_ = nullptr;
};

TEST_F(Listed, ModelsAreAsTheLibraryAnswers) {
  const std::map<std::string, Rows> all = tables();
  for (const synfire_tools::NamedId& model : synfire_tools::models) {
    SCOPED_TRACE(model.name);
    const Rows& rows = all.at("model-" + std::string(model.name));
    const bool fires = !synfire_tools::is_silent(model.id);
    synfire_layer layer = make(model.id, fires ? SYNFIRE_SURROGATE_ATAN : SYNFIRE_SURROGATE_DEFAULT);
    uint32_t index = 0;
    for (size_t i = 1; i < rows.size(); ++i) {
      synfire_parameter_info info = SYNFIRE_PARAMETER_INFO_INIT;
      ASSERT_EQ(synfire_layer_get_parameter_info(layer, index, &info), SYNFIRE_OK);
      const bool second_name = rows[i][0] != info.name;
      EXPECT_TRUE(!second_name || (model.id == SYNFIRE_MODEL_PLIF && rows[i][0] == "tau"));
      expect_true(layer, rows[i], rows[i][2], rows[i][4] == "yes", rows[i][5] == "yes", second_name ? nullptr : &info);
      EXPECT_NE(rows[i][3], "");  // every parameter of a built-in model has a unit
      if (i + 1 < rows.size() && !(model.id == SYNFIRE_MODEL_PLIF && rows[i + 1][0] == "tau")) ++index;
    }
    synfire_parameter_info info = SYNFIRE_PARAMETER_INFO_INIT;
    const synfire_status next = synfire_layer_get_parameter_info(layer, index + 1, &info);
    EXPECT_EQ(next, fires ? SYNFIRE_OK : SYNFIRE_ERROR_INVALID_ARGUMENT) << "a parameter of the model is not listed";
    if (fires) {
      EXPECT_STREQ(info.name, "alpha") << "a parameter of the model is not listed";
    }
    synfire_layer_destroy(layer);
  }
}

TEST_F(Listed, SurrogatesAreAsTheLibraryAnswers) {
  const std::map<std::string, Rows> all = tables();
  for (const synfire_tools::NamedId& surrogate : synfire_tools::surrogates) {
    SCOPED_TRACE(surrogate.name);
    const Rows& rows = all.at("surrogate-" + std::string(surrogate.name));
    synfire_layer layer = make(SYNFIRE_MODEL_IF, surrogate.id);
    synfire_parameter_info info = SYNFIRE_PARAMETER_INFO_INIT;
    uint32_t index = 2;  // after v_threshold and v_reset
    for (size_t i = 1; i < rows.size(); ++i, ++index) {
      ASSERT_EQ(synfire_layer_get_parameter_info(layer, index, &info), SYNFIRE_OK);
      expect_true(layer, rows[i], rows[i][2], rows[i][3] == "yes", rows[i][4] == "yes", &info);
    }
    EXPECT_EQ(synfire_layer_get_parameter_info(layer, index, &info), SYNFIRE_ERROR_INVALID_ARGUMENT);
    synfire_layer_destroy(layer);
  }
}

TEST_F(Listed, TheTextNamesEverything) {
  const std::string text = synfire_golden::list_as_text();
  for (const synfire_tools::NamedId& model : synfire_tools::models)
    EXPECT_NE(text.find("model " + std::string(model.name) + " (" + std::to_string(model.id) + ")"), std::string::npos);
  for (const synfire_tools::NamedId& surrogate : synfire_tools::surrogates)
    EXPECT_NE(text.find("surrogate " + std::string(surrogate.name) + " ("), std::string::npos) << surrogate.name;
}

}  // namespace
