// Data sets in files, written by hand from the formats: safetensors and arrays of NumPy. And the order of their rows,
// as synfire.h states it, apart from the library's own.
#ifndef SYNFIRE_TESTS_CAPI_ROW_FILES_HPP
#define SYNFIRE_TESTS_CAPI_ROW_FILES_HPP

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <map>

#include "network_file.hpp"

namespace synfire_test {

// ---- files ----------------------------------------------------------------------------------------------------------

inline std::string test_path(const std::string& name) {
  return testing::TempDir() + "synfire_rows_" + std::to_string(backend()) + "_" + name;
}

inline void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// R rows of an array, as bytes.
struct RowBytes {
  std::string dtype, descr;   // "F32", "<f4"
  std::vector<uint64_t> row;  // lengths of the axes after the rows
  uint64_t row_bytes = 0;
  std::string bytes = {};

  uint64_t n_rows() const { return bytes.size() / row_bytes; }
  std::string rows(uint64_t first, uint64_t n) const { return bytes.substr(first * row_bytes, n * row_bytes); }
  std::string shape(uint64_t n) const {
    std::string text = std::to_string(n);
    for (const uint64_t length : row) text.append(",").append(std::to_string(length));
    return text;
  }
};

struct NamedRows {
  std::string name;
  const RowBytes* rows;
  uint64_t first, n;
};

inline std::string safetensors_of(const std::vector<NamedRows>& tensors) {
  std::string header = "{", data;
  for (const NamedRows& one : tensors) {
    header.append(header.size() > 1 ? ",\"" : "\"").append(one.name).append("\":{\"dtype\":\"");
    header.append(one.rows->dtype).append("\",\"shape\":[").append(one.rows->shape(one.n));
    header.append("],\"data_offsets\":[").append(std::to_string(data.size())).append(",");
    data.append(one.rows->rows(one.first, one.n));
    header.append(std::to_string(data.size())).append("]}");
  }
  header.append("}");
  const uint64_t length = header.size();
  std::string file(reinterpret_cast<const char*>(&length), sizeof length);
  return file.append(header).append(data);
}

inline std::string npy_of(const RowBytes& rows, uint64_t first, uint64_t n) {
  std::string header = "{'descr': '" + rows.descr + "', 'fortran_order': False, 'shape': (" + rows.shape(n) +
                       (rows.row.empty() ? ",), }" : "), }");
  while ((10 + header.size() + 1) % 64 != 0) header.push_back(' ');
  header.push_back('\n');
  std::string file("\x93NUMPY\x01\x00", 8);
  file.push_back(static_cast<char>(header.size() & 255));
  file.push_back(static_cast<char>(header.size() >> 8));
  return file.append(header).append(rows.rows(first, n));
}

inline RowBytes rows_of(synfire_buffer buffer, const std::string& dtype, const std::string& descr, uint64_t element,
                        uint64_t n_rows, std::vector<uint64_t> row) {
  RowBytes rows = {dtype, descr, std::move(row), element};
  for (const uint64_t length : rows.row) rows.row_bytes *= length;
  rows.bytes.resize(n_rows * rows.row_bytes);
  require_ok(synfire_buffer_download(buffer, 0, rows.bytes.data(), rows.bytes.size()));
  return rows;
}

inline Buffer buffer_of_rows(synfire_context context, int32_t dtype, uint64_t element, const RowBytes& rows,
                             const std::vector<uint32_t>& order) {
  std::string bytes;
  for (const uint32_t row : order) bytes.append(rows.rows(row, 1));
  return buffer_of_bytes(context, dtype, bytes.size() / element, bytes.data(), bytes.size());
}

// ---- the order ------------------------------------------------------------------------------------------------------

using Keys = std::array<uint32_t, 32>;

inline Keys order_keys(uint64_t seed, uint64_t epoch, uint32_t what, uint32_t first) {
  Keys keys = {};
  for (uint32_t i = 0; i < 8; ++i) {
    uint32_t c[4] = {first + i, what, static_cast<uint32_t>(epoch), static_cast<uint32_t>(epoch >> 32)};
    uint32_t k[2] = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
    for (int round = 0; round < 10; ++round) {
      const uint64_t a = uint64_t{0xD2511F53} * c[0], b = uint64_t{0xCD9E8D57} * c[2];
      const uint32_t next[4] = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ k[0], static_cast<uint32_t>(b),
                                static_cast<uint32_t>(a >> 32) ^ c[3] ^ k[1], static_cast<uint32_t>(a)};
      std::copy_n(next, 4, c);
      k[0] += 0x9E3779B9;
      k[1] += 0xBB67AE85;
    }
    std::copy_n(c, 4, &keys[size_t{4} * i]);
  }
  return keys;
}

inline uint32_t permuted(uint32_t p, uint32_t n, const Keys& keys) {
  uint32_t columns = 2;
  while (uint64_t{columns} * columns < n) columns += 2;
  const uint32_t lines = (n + columns - 1) / columns;
  const auto amount = [](uint32_t x, uint32_t key, uint32_t limit) {
    x = x * 0x9E3779B9 + key;
    x = (x ^ (x >> 16)) * 0x7FEB352D;
    x = (x ^ (x >> 15)) * 0x846CA68B;
    x ^= x >> 16;
    return static_cast<uint32_t>(uint64_t{x} * limit >> 32);
  };
  do {
    uint32_t line = p / columns, column = p % columns;
    for (size_t r = 0; r < 32; r += 2) {
      column = (column + amount(line, keys[r], columns)) % columns;
      line = (line + amount(column, keys[r + 1], lines)) % lines;
    }
    p = line * columns + column;
  } while (p >= n);
  return p;
}

// The rows of an epoch, in order.
inline std::vector<uint32_t> epoch_order(uint32_t n_rows, uint32_t block_rows, uint32_t window_blocks, uint64_t seed,
                                         uint64_t epoch) {
  const uint32_t n_blocks = (n_rows + block_rows - 1) / block_rows;
  const Keys of_blocks = order_keys(seed, epoch, 0x6B636C62, 0);
  std::vector<uint32_t> order;
  for (uint32_t first = 0, window = 0; first < n_blocks; first += window_blocks, ++window) {
    std::vector<uint32_t> rows;
    for (uint32_t b = first; b < std::min(n_blocks, first + window_blocks); ++b) {
      const uint32_t block = window_blocks < n_blocks ? permuted(b, n_blocks, of_blocks) : b;
      for (uint32_t row = block * block_rows; row < std::min(n_rows, (block + 1) * block_rows); ++row)
        rows.push_back(row);
    }
    const Keys of_rows = order_keys(seed, epoch, 0x66756873, 8 * window);
    for (uint32_t p = 0; p < rows.size(); ++p)
      order.push_back(rows[permuted(p, static_cast<uint32_t>(rows.size()), of_rows)]);
  }
  return order;
}

// The arrangement of rows in memory from which the order of an epoch of synfire_network_set_data() gives `wanted`.
inline std::vector<uint32_t> arranged(const std::vector<uint32_t>& wanted, uint64_t seed, uint64_t epoch) {
  const auto n = static_cast<uint32_t>(wanted.size());
  const Keys keys = order_keys(seed, epoch, 0x66756873, 0);
  std::vector<uint32_t> rows(n);
  for (uint32_t p = 0; p < n; ++p) rows[permuted(p, n, keys)] = wanted[p];
  return rows;
}

}  // namespace synfire_test

#endif
