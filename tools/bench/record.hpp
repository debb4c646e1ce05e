// record.hpp - rows of results as a readable table, as CSV and as JSON.
//
// SPDX-License-Identifier: MIT
#ifndef SYNFIRE_TOOLS_BENCH_RECORD_HPP
#define SYNFIRE_TOOLS_BENCH_RECORD_HPP

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "options.hpp"

namespace synfire_bench {

/// A text, a count or a number; a number that is not finite becomes an empty cell.
using Cell = std::variant<std::string, std::uint64_t, double>;
using Row = std::vector<Cell>;

struct Column {
  const char* key;    ///< in CSV and JSON
  const char* title;  ///< in the table; null: not shown there
  int decimals = 0;   ///< in the table; negative: scientific
  int width = 7;      ///< in the table, at least the title's
};

/// Writes rows as they arrive.
class Writer {
 public:
  Writer(std::FILE* file, Format format, std::span<const Column> columns);
  void row(const Row& row);
  void finish();  ///< throws std::runtime_error if something could not be written

 private:
  void text_row(const Row& row) const;
  void csv_row(const Row& row) const;
  void json_row(const Row& row);

  std::FILE* file_;
  Format format_;
  std::span<const Column> columns_;
  bool first_ = true;
};

/// The files that `--csv` and `--json` of one command name, each with its writer. An empty path is not a file.
class ResultFiles {
 public:
  /// Throws std::runtime_error if a file cannot be opened.
  ResultFiles(const std::string& csv_path, const std::string& json_path, std::span<const Column> columns);
  void row(const Row& row);
  void finish();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  void open(const std::string& path, Format format, std::span<const Column> columns);

  std::vector<std::unique_ptr<std::FILE, Close>> files_;
  std::vector<Writer> writers_;
};

/// Reads the CSV that Writer wrote: the names of the header, then the rows.
struct CsvFile {
  std::vector<std::string> names;
  std::vector<std::vector<std::string>> rows;
};
CsvFile read_csv(const std::string& path);

}  // namespace synfire_bench

#endif
