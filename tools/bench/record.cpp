// record.cpp - tables, CSV, JSON.
//
// SPDX-License-Identifier: MIT
#include "record.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace synfire_bench {
namespace {

std::string in_table(const Cell& cell, int decimals) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* count = std::get_if<std::uint64_t>(&cell)) return std::to_string(*count);
  const double number = std::get<double>(cell);
  if (!std::isfinite(number)) return "-";
  char text[64];
  if (decimals < 0) {  // errors and the like
    std::snprintf(text, sizeof text, "%.*e", -decimals, number);
  } else {
    std::snprintf(text, sizeof text, "%.*f", decimals, number);
  }
  return text;
}

// Nine digits: more than the resolution of a clock.
std::string in_file(double number) {
  if (!std::isfinite(number)) return "";
  char text[64];
  std::snprintf(text, sizeof text, "%.9g", number);
  return text;
}

std::string quoted(const std::string& text, const char* escape_of_quote) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"')
      result += escape_of_quote;
    else if (c == '\\' && escape_of_quote[0] == '\\')
      result += "\\\\";
    else
      result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return result + "\"";
}

int width_of(const Column& column) {
  return std::max(column.width, static_cast<int>(std::strlen(column.title)));
}

}  // namespace

Writer::Writer(std::FILE* file, Format format, std::span<const Column> columns)
    : file_(file), format_(format), columns_(columns) {
  switch (format) {
    case Format::text:
      for (const Column& column : columns_) {
        if (column.title != nullptr) std::fprintf(file_, "%*s ", width_of(column), column.title);
      }
      break;
    case Format::csv:
      for (const Column& column : columns_)
        std::fprintf(file_, "%s%s", &column == columns_.data() ? "" : ",", column.key);
      break;
    case Format::json:
      std::fprintf(file_, "[");
      return;
  }
  std::fprintf(file_, "\n");
}

void Writer::row(const Row& row) {
  if (row.size() != columns_.size()) throw std::logic_error("a row with too many or too few cells");
  switch (format_) {
    case Format::text:
      text_row(row);
      break;
    case Format::csv:
      csv_row(row);
      break;
    case Format::json:
      json_row(row);
      break;
  }
  std::fflush(file_);
}

void Writer::text_row(const Row& row) const {
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (columns_[i].title == nullptr) continue;
    std::fprintf(file_, "%*s ", width_of(columns_[i]), in_table(row[i], columns_[i].decimals).c_str());
  }
  std::fprintf(file_, "\n");
}

void Writer::csv_row(const Row& row) const {
  for (std::size_t i = 0; i < row.size(); ++i) {
    std::string text;
    if (const auto* given = std::get_if<std::string>(&row[i])) {
      text = given->find_first_of(",\"\n") == std::string::npos ? *given : quoted(*given, "\"\"");
    } else if (const auto* count = std::get_if<std::uint64_t>(&row[i])) {
      text = std::to_string(*count);
    } else {
      text = in_file(std::get<double>(row[i]));
    }
    std::fprintf(file_, "%s%s", i == 0 ? "" : ",", text.c_str());
  }
  std::fprintf(file_, "\n");
}

void Writer::json_row(const Row& row) {
  std::fprintf(file_, "%s\n  {", first_ ? "" : ",");
  first_ = false;
  for (std::size_t i = 0; i < row.size(); ++i) {
    std::string text;
    if (const auto* given = std::get_if<std::string>(&row[i])) {
      text = quoted(*given, "\\\"");
    } else if (const auto* count = std::get_if<std::uint64_t>(&row[i])) {
      text = std::to_string(*count);
    } else {
      text = in_file(std::get<double>(row[i]));
      if (text.empty()) text = "null";
    }
    std::fprintf(file_, "%s\"%s\": %s", i == 0 ? "" : ", ", columns_[i].key, text.c_str());
  }
  std::fprintf(file_, "}");
}

void Writer::finish() {
  if (format_ == Format::json) std::fprintf(file_, "\n]\n");
  if (std::fflush(file_) != 0 || std::ferror(file_) != 0) throw std::runtime_error("the results could not be written");
}

ResultFiles::ResultFiles(const std::string& csv_path, const std::string& json_path, std::span<const Column> columns) {
  open(csv_path, Format::csv, columns);
  open(json_path, Format::json, columns);
}

void ResultFiles::open(const std::string& path, Format format, std::span<const Column> columns) {
  if (path.empty()) return;
  files_.emplace_back(std::fopen(path.c_str(), "wb"));
  if (!files_.back()) throw std::runtime_error("cannot write " + path + ": " + std::strerror(errno));
  writers_.emplace_back(files_.back().get(), format, columns);
}

void ResultFiles::row(const Row& row) {
  for (Writer& writer : writers_) writer.row(row);
}

void ResultFiles::finish() {
  for (Writer& writer : writers_) writer.finish();
}

CsvFile read_csv(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot open " + path);
  CsvFile csv;
  std::string line;
  while (std::getline(file, line)) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty()) continue;
    std::vector<std::string> cells(1);
    bool inside = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '"') {
        if (inside && i + 1 < line.size() && line[i + 1] == '"') {
          cells.back() += line[++i];
        } else {
          inside = !inside;
        }
      } else if (line[i] == ',' && !inside) {
        cells.emplace_back();
      } else {
        cells.back() += line[i];
      }
    }
    if (csv.names.empty()) {
      csv.names = cells;
    } else if (cells.size() == csv.names.size()) {
      csv.rows.push_back(cells);
    } else {
      throw std::runtime_error(path + ": a line has " + std::to_string(cells.size()) + " values, the first one " +
                               std::to_string(csv.names.size()));
    }
  }
  return csv;
}

}  // namespace synfire_bench
