#!/usr/bin/env python3
"""The model of the C ABI: what it makes of the marks in a small header, what it refuses, and that describe.py prints it.

SPDX-License-Identifier: MIT
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import header
import model

HERE = pathlib.Path(__file__).resolve().parent
HEADER = """
#define SYNFIRE_ABI_MAJOR 0
#define SYNFIRE_ABI_MINOR 9
typedef int32_t synfire_status;
typedef struct CUstream_st *synfire_stream;
/** A context. */
typedef struct synfire_context_s *synfire_context;
typedef struct synfire_graph_s *synfire_graph;
typedef struct synfire_buffer_s *synfire_buffer;
/** A line. */
typedef struct synfire_line_s *synfire_line;
enum {
  /** No end. */
  SYNFIRE_END_NONE = 0,
  SYNFIRE_END_LOWER = 1
};
/** What to do. */
typedef struct synfire_sort_desc {
  uint32_t struct_size;
  /** Which count. */
  int32_t ends SYNFIRE_ANY_OF(SYNFIRE_END);
  /** How fast. Default: 2.5e-1. */
  double rate;
  /** Counts where `ends` says so. */
  double lower;
  int64_t n_rows SYNFIRE_REQUIRED;
  synfire_buffer keys SYNFIRE_READ("[N]") SYNFIRE_UNLESS(line);
  synfire_buffer out SYNFIRE_WRITTEN("[N]");
  synfire_line line SYNFIRE_NULLABLE;
  const char *part SYNFIRE_WITH(line);
  const double *weights;
  uint64_t n_weights SYNFIRE_LENGTH_OF(weights);
MORE} synfire_sort_desc;
/** Appends a sort. @since ABI 0.1 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_sort(synfire_graph graph, const synfire_sort_desc *desc
    SYNFIRE_FIELD(out, SYNFIRE_UPDATED("[N]") SYNFIRE_NULLABLE)) SYNFIRE_NOEXCEPT;
/** Sorts now. @since ABI 0.1 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_sort(synfire_context context, const synfire_sort_desc *desc,
    synfire_stream stream SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;
/** Describes a line. @since ABI 0.2 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_line_describe(synfire_line line, char *text SYNFIRE_NULLABLE,
    uint64_t capacity, uint64_t *length, synfire_buffer *ends) SYNFIRE_NOEXCEPT;
"""


class Model(unittest.TestCase):
    def setUp(self):
        self.api = model.Api(header.Header(HEADER.replace("MORE", "")))
        self.sort, = self.api.operations
        self.of = self.sort.fields.of

    def names(self, fields):
        return [field.name for field in fields]

    def test_operations_know_their_immediate_call_and_their_own_marks(self):
        self.assertEqual((self.sort.run, self.sort.on, self.sort.object), ("synfire_sort", "context", None))
        self.assertEqual((self.of["out"].access, self.of["out"].nullable), ("updated", True))
        self.assertEqual(self.api.struct["synfire_sort_desc"].given.of["out"].access, "written")

    def test_lists_and_their_lengths_know_each_other(self):
        self.assertIs(self.of["weights"].length, self.of["n_weights"])
        self.assertIs(self.of["n_weights"].counted, self.of["weights"])
        self.assertEqual([self.of[name].role for name in ("weights", "n_weights", "part", "rate", "keys")],
                         ["list", "length", "text", "number", "object"])

    def test_there_is_a_way_for_each_field_that_stands_for_another(self):
        ways = {instead: self.names(fields) for instead, fields in self.sort.fields.ways.items()}
        self.assertEqual(ways, {None: ["keys", "weights", "n_rows"], "line": ["line", "part", "weights", "n_rows"]})
        self.assertEqual(self.names(self.of["line"].companions), ["part"])

    def test_constants_defaults_and_bounds(self):
        group = self.api.groups["end"]
        self.assertEqual((group.zero.symbol, group.is_sum), ("NONE", True))
        self.assertEqual((self.of["rate"].default, self.of["lower"].default), ("2.5e-1", None))
        self.assertTrue(self.of["lower"].is_bound)
        self.assertFalse(self.of["rate"].is_bound)

    def test_parameters_have_roles(self):
        describe = next(method for method in self.api.methods if method.name == "describe")
        self.assertEqual([parameter.role for parameter in describe.parameters], ["string", "capacity", "size", "part"])
        self.assertEqual(self.api.parts, {"buffer"})

    def test_marks_that_do_not_fit_are_refused(self):
        for field, text in (("synfire_buffer more;", "more does not say whether"),
                            ("double more SYNFIRE_WITH(line);", "more is given with or without line, but"),
                            ("const char *more SYNFIRE_WITH(out);", "not a field that may simply be null"),
                            ("const char *more SYNFIRE_REQUIRED;", "more is required, but"),
                            ("widget more;", "has the unknown type 'widget'")):
            with self.subTest(field), self.assertRaises(SystemExit) as refused:
                model.Api(header.Header(HEADER.replace("MORE", f"  {field}\n")))
            self.assertIn(text, str(refused.exception))

    def test_a_function_that_cannot_be_read_is_not_overlooked(self):
        with self.assertRaises(SystemExit):
            header.Header(HEADER.replace("MORE", "") + "SYNFIRE_API int synfire_odd(int) SYNFIRE_CALL;\n")


class Description(unittest.TestCase):
    def test_it_has_all_that_the_header_declares(self):
        printed = subprocess.run([sys.executable, HERE / "describe.py"], check=True, capture_output=True, text=True)
        described, api = json.loads(printed.stdout), model.read()
        for kind in ("handles", "aliases", "callbacks", "constants", "structs", "functions", "objects", "makers",
                     "operations", "methods"):
            self.assertEqual([one["name"] for one in described[kind]], [one.name for one in getattr(api, kind)])
        self.assertGreater(len(api.functions), 100)

    def test_it_is_that_of_another_header_where_one_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "synfire.h"
            path.write_text(HEADER.replace("MORE", ""), encoding="utf-8")
            printed = subprocess.run([sys.executable, HERE / "describe.py", path], check=True, capture_output=True)
        fields = {field["name"]: field for field in json.loads(printed.stdout)["operations"][0]["fields"]}
        self.assertEqual(fields["keys"]["unless"], "line")
        self.assertEqual(fields["part"]["with"], "line")


if __name__ == "__main__":
    unittest.main()
