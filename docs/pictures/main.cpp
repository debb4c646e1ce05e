// main.cpp - synfire-pictures: draws the documentation's pictures of models, surrogates, events and population codes,
// using the library itself.
//
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <synfire/synfire.hpp>

#include "../../tools/names/names.hpp"
#include "cells.hpp"
#include "curves.hpp"
#include "events.hpp"
#include "membrane.hpp"

namespace {

constexpr int exit_done = 0, exit_failed = 1, exit_unusable = 2;

constexpr const char* usage =
    "usage: synfire-pictures FOLDER\n"
    "\n"
    "Writes model-NAME.svg, surrogate-NAME.svg, events.svg and population.svg into FOLDER, which must exist: the "
    "response\n"
    "of each model to a step of input, each surrogate's derivative and primitive, events in bins, and the cells of a\n"
    "population code. The host backend computes them, all but events in f64, so every machine draws the same bytes.\n";

// Returns the number of files.
int draw_all(const std::filesystem::path& folder) {
  const synfire::Context context(synfire::context_desc(SYNFIRE_BACKEND_HOST, 1));
  int files = 0;
  const auto write = [&](const std::string& name, const std::string& svg) {
    if (svg.empty()) {
      std::fprintf(stderr, "synfire-pictures: %s: this program has no scene for it\n", name.c_str());
      return;
    }
    std::ofstream file(folder / name, std::ios::binary);
    file << svg;
    file.close();
    if (!file) throw std::runtime_error("cannot write " + (folder / name).string());
    ++files;
  };
  for (const synfire_tools::NamedId& model : synfire_tools::models)
    write("model-" + std::string(model.name) + ".svg", synfire_pictures::draw_membrane(context, model.name, model.id));
  for (const synfire_tools::NamedId& surrogate : synfire_tools::surrogates)
    write("surrogate-" + std::string(surrogate.name) + ".svg",
          synfire_pictures::draw_curves(context, surrogate.name, surrogate.id));
  write("events.svg", synfire_pictures::draw_events(context));
  write("population.svg", synfire_pictures::draw_cells(context));
  return files;
}

}  // namespace

int main(int argument_count, char** arguments) {
  const std::string folder = argument_count == 2 ? arguments[1] : "";
  if (folder == "--help" || folder == "-h") {
    std::printf("%s", usage);
    return exit_done;
  }
  if (folder.empty() || folder[0] == '-') {
    std::fprintf(stderr, "synfire-pictures: one folder is needed\n\n%s", usage);
    return exit_unusable;
  }
  try {
    if (!std::filesystem::is_directory(folder)) {
      std::fprintf(stderr, "synfire-pictures: %s is not a folder\n", folder.c_str());
      return exit_unusable;
    }
    std::printf("%d pictures\n", draw_all(folder));
    synfire::reclaim();
    return exit_done;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "synfire-pictures: %s\n", error.what());
    return exit_failed;
  }
}
