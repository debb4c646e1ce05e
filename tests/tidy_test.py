#!/usr/bin/env python3
"""Tests of tidy.py: how it puts files into groups, and when a clean result stays valid.

SPDX-License-Identifier: MIT
"""
import os
import pathlib
import re
import tempfile
import time
import unittest

import tidy


class InAFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        self.addCleanup(setattr, tidy, "ROOT", tidy.ROOT)
        tidy.ROOT = self.folder

    def write(self, name, text, root=None):
        path = (root or self.folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path


class Groups(InAFolder):
    def group(self, sources, apart):
        for name, source in sources.items():
            self.write(name, source)
        return tidy.group(list(sources), [], "", apart, self.folder / "build/units/0.cpp")

    def test_a_place_in_the_text_is_that_in_the_file(self):
        unit = self.group({"a/one.cpp": '#include <vector>\n\nint one;\n', "a/two.cpp": "int two;\nint three;\n"}, True)
        text = unit.text.read_text(encoding="utf-8").splitlines()
        self.assertEqual(len(text), len(unit.lines))
        line = text.index("int three;") + 1
        found, files = tidy.findings(unit, [f"{unit.text}:{line}:5: warning: a [b]", "  the line",
                                            f"{unit.text}:{line}:1: note: n", f"{self.folder}/a.hpp:7:1: error: c [d]"])
        three = self.folder / "a/two.cpp"
        self.assertEqual(found, [f"{three}:2:5: warning: a [b]\n  the line\n{three}:2:1: note: n",
                                 f"{self.folder}/a.hpp:7:1: error: c [d]"])
        self.assertEqual(files, {"a/two.cpp"})

    def test_includes_are_first_and_found(self):
        self.write("a/near.hpp", "")
        unit = self.group({"a/one.cpp": '#ifdef X\n#include "near.hpp"\n#include "far.hpp"\n#endif\nint one;\n',
                           "a/two.cpp": "#include <vector>\n"}, True)
        text = unit.text.read_text(encoding="utf-8")
        before = text[: text.index("int one;")]
        self.assertIn(f'#ifdef X\n#include "{self.folder}/a/near.hpp"\n#include "far.hpp"\n#endif\n', before)
        self.assertIn("#include <vector>", before)

    def test_each_is_in_a_namespace_that_sees_those_of_headers(self):
        sources = {"a.cpp": "namespace x::y {\n}\n", "b.cpp": "#define B 1\n"}
        text = self.group(sources, True).text.read_text(encoding="utf-8")
        self.assertIn("namespace synfire_tidy_0 { namespace x { using namespace ::x; }"
                      " namespace x::y { using namespace ::x::y; }", text)
        self.assertTrue(text.endswith("#undef B\n"))
        self.assertNotIn("using", self.group(sources, False).text.read_text(encoding="utf-8"))

    def test_files_with_a_name_in_common_are_in_two(self):
        def source(declared):
            return f"namespace x {{\nnamespace {{\n\n{declared}\n\n}}  // namespace\n}}  // namespace x\n"

        self.assertEqual(tidy.unnamed(source("constexpr int a = 1, b = 2;\nstruct C {\n  int d;\n};\n"
                                             "int e(int f) {\n  int g;\n}\nusing k::h;\nusing I = int;\n"
                                             "const int j[] = {1};\nTEST(K, L) {\n}\nint m;")),
                         {"a", "b", "C", "e", "I", "j", "m"})
        for name, declared in {"1.cpp": "int a;", "2.cpp": "double a(int b) {", "3.cpp": "struct B {\n};"}.items():
            self.write(name, source(declared))
        divided = tidy.parts(["1.cpp", "2.cpp", "3.cpp"], False)
        self.assertEqual(len(divided), 2)
        self.assertEqual(sorted(sum(divided, [])), ["1.cpp", "2.cpp", "3.cpp"])
        self.assertFalse(any({"1.cpp", "2.cpp"} <= set(part) for part in divided))
        self.assertEqual(tidy.parts(["1.cpp", "2.cpp", "3.cpp"], True), [["1.cpp", "2.cpp", "3.cpp"]])

    def test_a_using_declaration_that_may_be_unused(self):
        self.assertEqual(tidy.unused("using a::b;\nusing a::c;  // b\nc d;\n"), ["b"])

    def test_files_that_have_reasons_are_there(self):
        project = pathlib.Path(tidy.__file__).resolve().parents[1]
        for start in [*tidy.ALONE, *tidy.PLAIN, *tidy.NAMES, *tidy.LIKE, *tidy.LIKE.values()]:
            self.assertTrue(list(project.glob(f"{start}*")) or (project / start).is_dir(), start)


class Results(InAFolder):
    def setUp(self):
        super().setUp()
        self.version = "14"
        self.clone = self.folder / "clone"
        self.unit = self.of(self.clone)

    def of(self, clone):
        """A unit and the header that it reads, in a clone."""
        self.write("src/a.hpp", "int a;\n", clone)
        text = self.write("build/tidy/units/0.cpp", f'#include "{clone}/src/a.hpp"\n', clone)
        return tidy.Unit(["src/a.cpp"], [f"-I{clone}/include"], "checks", text)

    def cache(self, clone=None):
        return tidy.Cache(self.folder / "cache", clone or self.clone, self.version)

    def keep(self):
        self.cache().keep(self.unit, [str(self.unit.text), f"{self.clone}/include/../src/a.hpp"])

    def has(self):
        return self.cache().has(self.unit)

    def test_it_stands_while_nothing_changes(self):
        self.assertFalse(self.has())
        self.keep()
        self.assertTrue(self.has())

    def test_another_clone_finds_it(self):
        self.keep()
        other = self.folder / "elsewhere/other"
        self.assertTrue(self.cache(other).has(self.of(other)))
        unit = self.of(other)
        self.write("src/a.hpp", "int b;\n", other)
        self.assertFalse(self.cache(other).has(unit))

    def test_a_header_counts(self):
        self.keep()
        self.write("src/a.hpp", "int b;\n", self.clone)
        self.assertFalse(self.has())
        self.keep()
        self.assertTrue(self.has())
        self.write("src/a.hpp", "int a;\n", self.clone)
        self.assertTrue(self.has(), "the branch before")
        (self.clone / "src/a.hpp").unlink()
        self.assertFalse(self.has())

    def test_the_text_options_checks_version_and_files_count(self):
        self.keep()
        for name, value in {"arguments": ["-DX"], "checks": "-*", "files": ["src/b.cpp"]}.items():
            before = getattr(self.unit, name)
            setattr(self.unit, name, value)
            self.assertFalse(self.has(), name)
            setattr(self.unit, name, before)
        self.version = "15"
        self.assertFalse(self.has())
        self.version = "14"
        self.assertTrue(self.has())
        self.unit.text.write_text("int c;\n", encoding="utf-8")
        self.assertFalse(self.has())

    def test_what_is_written_during_the_check_is_not_kept(self):
        cache = self.cache()
        header = self.clone / "src/a.hpp"
        os.utime(header, (time.time() + 5, time.time() + 5))
        cache.keep(self.unit, [str(header)])
        self.assertFalse(self.has())

    def test_a_damaged_entry_is_none(self):
        self.keep()
        for entry in (self.folder / "cache").iterdir():
            entry.write_bytes(entry.read_bytes()[:-20])
        self.assertFalse(self.has())
        self.keep()
        self.assertTrue(self.has())

    def test_what_is_not_used_is_removed(self):
        self.keep()
        entry, = (self.folder / "cache").iterdir()
        self.assertTrue(re.fullmatch(r"[0-9a-f]{64}\.json\.gz", entry.name))
        old = time.time() - 31 * 86400
        os.utime(entry, (old, old))
        self.assertTrue(self.has(), "which counts as a use")
        self.cache().prune()
        self.assertTrue(self.has())
        os.utime(entry, (old, old))
        self.cache().prune()
        self.assertFalse(self.has())


if __name__ == "__main__":
    unittest.main()
