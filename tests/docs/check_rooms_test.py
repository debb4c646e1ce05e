#!/usr/bin/env python3
"""Tests check_rooms.py on small rooms with planted mistakes.

Usage: check_rooms_test.py CXX NM    a compiler, and what lists the symbols of its object files
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import check_rooms

MAY_USE = {"base": set(), "graph": {"base"}, "operations": {"base", "graph", "synapses/kinds"},
           "synapses": {"base"}, "synapses/kinds": {"base", "synapses", "operations"}, "network": {"graph", "operations"}}
SOUND = {
    "base/clock.hpp": "namespace core { long now(); }\n",
    "base/clock.cpp": "#include <base/clock.hpp>\nlong core::now() { return 7; }\n",
    "graph/graph.hpp": "#include <base/clock.hpp>\nnamespace core { struct Graph { virtual ~Graph(); void launch(); };\n"
                       "inline long start() { return now() + 1; } }\n",
    "graph/graph.cpp": "#include <graph/graph.hpp>\ncore::Graph::~Graph() = default;\n"
                       "void core::Graph::launch() { now(); }\n",
    "operations/fill.hpp": "namespace core { struct Graph; }\nnamespace operations { template <class T> T zero();\n"
                           "void fill(core::Graph&); }\n",
    "operations/fill.cpp": "#include <operations/fill.hpp>\n#include <graph/graph.hpp>\nnamespace operations {\n"
                           "template <> int zero<int>() { return 0; }\n"
                           "void fill(core::Graph& graph) { graph.launch(); } }\n",
    "synapses/synapse.hpp": "namespace core { struct Synapse { void find(); }; }\n",
    "synapses/synapse.cpp": "#include <synapses/synapse.hpp>\n#include <base/clock.hpp>\nvoid core::Synapse::find() { now(); }\n",
    "synapses/dense/dense.hpp": "namespace operations { void multiply(); }\n",
    "synapses/dense/dense.cpp": "#include <synapses/dense/dense.hpp>\n#include <synapses/synapse.hpp>\n"
                                "void operations::multiply() { core::Synapse().find(); }\n",
    "operations/stack.cpp": "#include <synapses/dense/dense.hpp>\nvoid stack() { operations::multiply(); }\n",
    "network/run.cpp": "#include <graph/graph.hpp>\n#include <operations/fill.hpp>\n"
                       "int run() { core::Graph g; operations::fill(g); core::start(); return operations::zero<int>(); }\n",
}
CXX, NM = "c++", "nm"


class Rooms(unittest.TestCase):
    def problems(self, changed, unity=()):
        """Those of the sound rooms with these files changed, some rooms compiled as one file."""
        files = {**SOUND, **changed}
        with tempfile.TemporaryDirectory() as folder:
            source, build, objects = pathlib.Path(folder, "source"), pathlib.Path(folder, "build"), []
            for name, text in files.items():
                path = source / "src" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("#pragma once\n" + text if path.suffix == ".hpp" else text, encoding="utf-8")
            for room in unity:
                whole = source / "src" / f"unity_{room}_cxx.cxx"
                whole.write_text("".join(f"#include <{name}>\n" for name in files
                                         if name.startswith(room) and name.endswith(".cpp")), encoding="utf-8")
                objects.append((whole, f"Unity/unity_{room}_cxx.cxx.o"))
            objects += [(source / "src" / name, f"{name}.o") for name in files
                        if name.endswith(".cpp") and name.split("/")[0] not in unity]
            listed = []
            for path, name in objects:
                listed.append(str(build / "src/CMakeFiles/core.dir" / name))
                pathlib.Path(listed[-1]).parent.mkdir(parents=True, exist_ok=True)
                subprocess.run([CXX, "-O1", "-c", str(path), "-I", str(source / "src"), "-o", listed[-1]], check=True)
            n_symbols, found = check_rooms.check_symbols(source, str(build), listed, NM, MAY_USE)
            self.assertGreater(n_symbols, 3)
            return check_rooms.check_includes(source, set(), MAY_USE)[1], found

    def test_sound_rooms_have_no_problem(self):
        self.assertEqual(self.problems({}), ([], []))
        self.assertEqual(self.problems({}, unity=("graph", "operations")), ([], []))

    def test_an_include_of_a_room_above(self):
        includes, symbols = self.problems({"base/clock.cpp": SOUND["base/clock.cpp"] + "#include <graph/graph.hpp>\n"})
        self.assertEqual(includes, ["src/base/clock.cpp includes <graph/graph.hpp>: base may not use graph"])
        self.assertEqual(symbols, [])

    # A folder of synapses is a room of its own, above what all synapses have.
    def test_what_all_synapses_have_uses_no_kind(self):
        includes, symbols = self.problems({
            "synapses/synapse.hpp": "#include <synapses/dense/dense.hpp>\n" + SOUND["synapses/synapse.hpp"],
            "synapses/synapse.cpp": SOUND["synapses/synapse.cpp"].replace("now();", "operations::multiply();")})
        self.assertEqual(includes, ["src/synapses/synapse.hpp includes <synapses/dense/dense.hpp>: synapses may not use "
                                    "synapses/kinds"])
        self.assertRegex("\n".join(symbols), r"uses operations::multiply\(\), which is defined in synapses/kinds: synapses may "
                                             r"not use it")

    def test_two_files_of_one_name(self):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder)
            for name in "src/base/a.hpp", "src/base/a.cpp", "src/graph/b.hpp", "src/neurons/passes/b.hpp":
                (source / name).parent.mkdir(parents=True, exist_ok=True)
                (source / name).write_text("", encoding="utf-8")
            self.assertEqual(check_rooms.check_names(source),
                             ["src/graph/b.hpp and src/neurons/passes/b.hpp: two files called b.hpp"])

    def test_the_picture(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder, "docs/pages/house.md")
            page.parent.mkdir(parents=True)

            def problems(arrows):
                page.write_text("".join(f'  "{a}" -> "{b}";\n' for a, b in arrows), encoding="utf-8")
                return check_rooms.check_picture(pathlib.Path(folder), {"base": set(), "graph": {"base"},
                                                                        "network": {"base", "graph"}})

            sound = [("capi", "network"), ("network", "graph"), ("graph", "base")]
            self.assertEqual(problems(sound), [])
            self.assertEqual(problems(sound[:2]), ["docs/pages/house.md does not show that graph may use base",
                                                   "docs/pages/house.md does not show that network may use base"])
            self.assertEqual(problems([*sound, ("network", "base")]),
                             ["docs/pages/house.md: network -> base follows from other arrows"])
            self.assertIn("docs/pages/house.md draws base -> graph, which is not allowed", problems([*sound, ("base", "graph")]))
            self.assertIn("docs/pages/house.md: graph -> attic: no such room", problems([*sound, ("graph", "attic")]))

    # The mistake that no include shows.
    def test_declared_in_a_room_and_defined_above(self):
        planted = {
            "graph/graph.hpp": SOUND["graph/graph.hpp"] + "namespace core { int find_joins(int); }\n",
            "graph/graph.cpp": SOUND["graph/graph.cpp"] + "int joined() { return core::find_joins(1); }\n",
            "operations/join.cpp": "#include <graph/graph.hpp>\nint core::find_joins(int n) { return n; }\n",
        }
        for unity in (), ("graph",), ("graph", "operations"):
            includes, symbols = self.problems(planted, unity)
            self.assertEqual(includes, [])
            self.assertEqual(len(symbols), 2, symbols)
            self.assertRegex(symbols[0], r"graph.*\.o uses core::find_joins\(int\), which is defined in operations: graph "
                                         r"may not use it")

    def test_a_member_declared_in_a_room_and_defined_above(self):
        _, symbols = self.problems({
            "graph/graph.cpp": SOUND["graph/graph.cpp"].replace("{ now(); }", "{ send(); }"),
            "graph/graph.hpp": SOUND["graph/graph.hpp"].replace("void launch();", "void launch(); void send();"),
            "operations/send.cpp": "#include <graph/graph.hpp>\nvoid core::Graph::send() {}\n"})
        self.assertRegex(symbols[0], r"uses core::Graph::send\(\), which is defined in operations: graph may not use it")

    def test_declared_by_hand(self):
        includes, symbols = self.problems(
            {"base/clock.cpp": SOUND["base/clock.cpp"] + "namespace operations { template <class T> T zero(); }\n"
                                                         "int none() { return operations::zero<int>(); }\n"})
        self.assertEqual(includes, [])
        self.assertRegex("\n".join(symbols), r"uses int operations::zero<int>\(\), which is defined in operations: base may "
                                             r"not use it")

    # Those who use it may use both rooms.
    def test_declared_in_a_room_and_defined_in_another_that_its_users_may_use(self):
        includes, symbols = self.problems({
            "graph/graph.hpp": SOUND["graph/graph.hpp"] + "namespace core { int make_copy(int); }\n",
            "operations/copy.cpp": "#include <graph/graph.hpp>\nint core::make_copy(int n) { return n; }\n",
            "network/copy.cpp": "#include <graph/graph.hpp>\nint copied() { return core::make_copy(1); }\n"})
        self.assertEqual(includes, [])
        self.assertEqual(symbols, ["core::make_copy(int) is defined in operations and used in network, but no header of "
                                   "operations declares it"])

    def test_a_table_of_virtual_functions_above(self):
        _, symbols = self.problems({
            "graph/graph.hpp": SOUND["graph/graph.hpp"] + "namespace core { struct Tape { virtual ~Tape(); }; }\n",
            "graph/graph.cpp": SOUND["graph/graph.cpp"] + "core::Tape* tape() { return new core::Tape; }\n",
            "operations/tape.cpp": "#include <graph/graph.hpp>\ncore::Tape::~Tape() = default;\n"})
        self.assertRegex("\n".join(symbols), r"uses vtable for core::Tape, which is defined in operations")


if __name__ == "__main__":
    CXX, NM = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
