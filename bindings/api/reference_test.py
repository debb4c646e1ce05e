#!/usr/bin/env python3
"""The references of C# and Julia: every public name of the wrappers is in them, found here in another way than the
generator finds it; shapes and errors are those of the header; and a name without documentation stops the generator.

SPDX-License-Identifier: MIT
"""
import html
import pathlib
import re
import shutil
import tempfile
import unittest

import model
import reference

CSHARP = model.ROOT / "bindings/csharp/src"
JULIA = model.ROOT / "bindings/julia/Synfire/src"


def public_names(folder):
    """The public types and members of C#, by the indentation of the sources: "Graph", "Graph.Launch"."""
    names = set()
    for path in folder.glob("*.cs"):
        owner = kind = None
        if path.name in reference.RAW:
            continue
        for line in path.read_text(encoding="utf-8").split("\n"):
            of_type = re.match(r"    (?:\w+ )*?(class|struct|enum|delegate) (?:\w+ (?=\w+\())?(\w+)", line)
            if of_type and not line.startswith("     "):
                owner, kind = (of_type[2] if re.match(r"    public ", line) else None), of_type[1]
                names |= {owner} if owner else set()
            if not owner:
                continue
            constant = re.match(r"        (\w+) = -?\w+,?$", line)
            if kind == "enum" and constant:
                names.add(f"{owner}.{constant[1]}")
            if re.match(r"        public (?!override)", line) and not re.search(r" operator | (?:class|struct|delegate) ", line):
                head = re.split(r" where | => | = |\{|;", line)[0].rstrip()
                name = re.search(r"(\w+)(?:<[\w, ]+>)?\(", head) or re.search(r"(this)\[", head) or re.search(r"(\w+)$", head)
                names.add(f"{owner}.{name[1].replace('this', 'this[]')}")
    return names


def exported_names(folder):
    """The names that Julia exports."""
    names, inside = set(), False
    for path in folder.glob("*.jl"):
        for line in path.read_text(encoding="utf-8").split("\n"):
            inside = inside or line.startswith("export ")
            if inside:
                names |= set(re.findall(r"[\w!]+", line)) - {"export"}
                inside = line.rstrip().endswith(",")
    return names


def section(page, key):
    """The part of a page about a type or a file."""
    begin = page.index(f'<h2 id="{key}">')
    end = page.find("<h2 ", begin + 1)
    return page[begin:end if end > 0 else len(page)]


def entry(page, key):
    """The part of a page about a name."""
    begin = page.index(f'<dt id="{key}">')
    return page[begin:page.find("</dd>\n", begin)]


class References(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.api = model.read()
        cls.csharp = reference.page("csharp")
        cls.julia = reference.page("julia")

    def test_every_public_name_of_csharp(self):
        names = public_names(CSHARP)
        self.assertGreater(len(names), 700)
        self.assertIn("Graph.Launch", names)
        self.assertEqual([name for name in sorted(names) if f'id="csharp-{name}"' not in self.csharp], [])

    def test_every_exported_name_of_julia(self):
        names = exported_names(JULIA)
        self.assertGreater(len(names), 100)
        self.assertIn("launch!", names)
        self.assertEqual([name for name in sorted(names) if f'id="julia-{name}"' not in self.julia], [])

    def test_links_lead_somewhere(self):
        for page in (self.csharp, self.julia):
            keys = re.findall(r' id="([^"]+)"', page)
            self.assertEqual(len(keys), len(set(keys)))
            self.assertEqual(set(re.findall(r'href="#([^"]+)"', page)) - set(keys), set())

    def test_shapes_are_those_of_the_header(self):
        checked = 0
        for operation in self.api.operations:
            name = "".join(part.capitalize() for part in operation.name.split("_")) + "Arguments"
            if f'<h2 id="csharp-{name}">' not in self.csharp:
                continue
            text = section(self.csharp, f"csharp-{name}")
            for field in operation.fields:
                for shape in re.findall(r"\[[A-Z0-9*, ]+\]", field.shape or ""):  # without names, which each language has
                    self.assertIn(html.escape(shape), text, f"{operation.name}.{field.name}")
                    checked += 1
        self.assertGreater(checked, 100)
        self.assertIn("[N, B, T]", self.julia)

    def test_errors_are_those_of_the_header(self):
        launch = self.api.function["synfire_graph_launch"].errors
        self.assertIn("SYNFIRE_ERROR_STALE_TAPE", launch)
        for error in launch:
            self.assertIn(f"<code>{error}</code>", entry(self.julia, "julia-launch!"))
        self.assertIn("<code>ErrorStaleTape</code>", entry(self.csharp, "csharp-Graph.Launch"))
        # "As synfire_synapse_create()" has the errors of that.
        self.assertEqual(self.api.function["synfire_synapse_create_one_to_one"].errors,
                         self.api.function["synfire_synapse_create"].errors)
        self.assertIn("<code>ErrorOutOfMemory</code>", entry(self.csharp, "csharp-Synapse.OneToOne"))

    def test_a_name_without_documentation_stops_it(self):
        with tempfile.TemporaryDirectory() as folder:
            for source, read, file, before, after, name in (
                    (CSHARP, reference.read_csharp, "Graph.cs", "        public Context Context { get; }",
                     "        public int Bare { get; }\n\n        public Context Context { get; }", "Bare"),
                    (JULIA, reference.read_julia, "Synfire.jl", "\nexport record,", "\nexport bare_name, record,", "bare_name")):
                copy = pathlib.Path(folder) / source.parent.name
                shutil.copytree(source, copy)
                text = (copy / file).read_text(encoding="utf-8")
                self.assertIn(before, text)
                changed = text.replace(before, after, 1)
                if file == "Graph.cs":
                    changed = re.sub(r"(\n *///[^\n]*)+(\n        public int Bare)", r"\2", changed)
                (copy / file).write_text(changed, encoding="utf-8")
                with self.assertRaises(SystemExit) as stopped:
                    read(copy)
                self.assertIn(name, str(stopped.exception))


if __name__ == "__main__":
    unittest.main()
