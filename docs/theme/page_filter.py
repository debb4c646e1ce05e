"""Prints a page as Doxygen wants it. Pages are plain Markdown, which reads well where it is shown as it is; this makes the
same page of it in the built documentation:

- a table of contents in place of the empty line after the title, on every page of docs/pages but the main page;
- a link to a heading, page.md#some-heading or #some-heading: every heading gets that name as its label;
- a link to a group of functions, ../../include/synfire/synfire.h#graph;
- a link to the sources of a wrapper, ../../bindings/csharp/src: its reference (REFERENCES);
- a link whose text is code, which Doxygen shows with its backticks: its text becomes plain;
- a picture, a program that draws pictures, a file of evidence, an example of a model: all of them lie beside the built
  pages;
- formulas: $`a + b`$ within a line, and blocks of ```math;
- drawings, blocks of ```dot;
- the same code in several languages, of which the reader chooses one: a row of

      <details><summary>C++</summary>

      </details>

  becomes tabs (the aliases tabs, tab and endtabs in Doxyfile.in). The summary is a name of LANGUAGES.

Usage: page_filter.py PAGE.md                    # lines stay lines, so that Doxygen's messages have the right numbers
"""

import pathlib
import re
import sys

HEADING = re.compile(r"^(##+) (.*?)(?: \{#([\w-]+)\})?$")
LINK = re.compile(r"\]\(([^)\s#]*)#([\w-]+)\)")
CODE = re.compile(r"\[`([^`\]]+)`\]\(")
BESIDE = re.compile(r"\]\((?:\.\./)?(?:images|pictures|evidence|examples/models)/")
FORMULA = re.compile(r"\$`([^`]+)`\$")
# References that bindings/api/reference.py writes, by the sources that they are of.
REFERENCES = {"bindings/csharp/src": "csharp", "bindings/julia/Synfire/src": "julia"}
SOURCES = re.compile(r"\]\((?:\.\./)+(" + "|".join(REFERENCES) + r")\)")
SUMMARY = re.compile(r"^<details(?: open)?><summary>(.*)</summary>$")

# The languages that tabs can have: the title of a tab, the name by which tabs.js remembers it.
LANGUAGES = {"C": "c", "C++": "cpp", "Rust": "rust", "C#": "csharp", "Julia": "julia", "Python": "python", "Lua": "lua"}
# Blocks that Doxygen does not show as code: what their first and last lines become.
DRAWN = {"```math": (r"\f[", r"\f]"), "```dot": ("@dot", "@enddot")}
# Languages of blocks as Doxygen names them: extensions of files, see EXTENSION_MAPPING.
COLOURED = {"```rust": "```{.rs}", "```csharp": "```{.cs}", "```julia": "```{.jl}", "```lua": "```{.lua}", "```python": "```{.py}"}


def lines_of(page):
    """The lines of a page, each with whether it is text, and not inside a fence."""
    text = True
    for line in page.read_text(encoding="utf-8").split("\n"):
        fence = line.startswith(("```", "~~~"))
        yield line, text and not fence
        text ^= fence


def labels(page):
    """The name of each heading, as links write it: its label, which is unique in the whole documentation."""
    stem = page.parent.name if page.stem == "README" else page.stem
    found = {}
    for line, is_text in lines_of(page):
        heading = HEADING.match(line) if is_text else None
        if not heading:
            continue
        name = heading.group(3)
        if not name:
            plain = re.sub(r"[^\w\- ]", "", heading.group(2).lower(), flags=re.A)
            name = first = plain.replace(" ", "-")
            repeated = 0
            while name in found:
                repeated += 1
                name = f"{first}-{repeated}"
        found[name] = heading.group(3) or f"{stem}--{name}"
    return found


def with_tabs(page, lines):
    """The lines with rows of <details> replaced by tabs. Each row is a group of its own."""
    group, inside = 0, False
    for number, line in enumerate(lines):
        summary = SUMMARY.match(line)
        if summary:
            if summary.group(1) not in LANGUAGES:
                sys.exit(f"{page}: {summary.group(1)} is not one of {', '.join(LANGUAGES)}")
            group += not inside
            command = "tab" if inside else "tabs"
            lines[number] = f"@{command}{{tabs-{group},{LANGUAGES[summary.group(1)]},{summary.group(1)}}}"
            inside = True
        elif line == "</details>":
            inside = any(SUMMARY.match(later) for later in [some for some in lines[number + 1 :] if some][:1])
            lines[number] = "" if inside else "@endtabs"
    return lines


def with_blocks(lines):
    """The lines with the first and last lines of blocks as Doxygen wants them."""
    last = None
    for line in lines:
        if last is None and line in DRAWN:
            line, last = DRAWN[line]
        elif last is not None and line == "```":
            line, last = last, None
        yield COLOURED.get(line, line)


def main():
    page = pathlib.Path(sys.argv[1])
    own = labels(page)
    headings = iter(own.items())

    def reference(match):
        target = (page.parent / match.group(1)) if match.group(1) else page
        if target.name in ("synfire.h", "synfire.hpp"):
            if f"@defgroup {match.group(2)} " not in target.read_text(encoding="utf-8"):
                sys.exit(f"{page}: {target.name} has no group {match.group(2)}")
            return f"](@ref {match.group(2)})"
        if target.suffix != ".md":
            return match.group(0)
        known = labels(target) if target != page else own
        if match.group(2) not in known:
            sys.exit(f"{page}: {target.name} has no heading #{match.group(2)}")
        return f"](@ref {known[match.group(2)]})"

    lines = []
    for line, is_text in lines_of(page):
        if is_text and HEADING.match(line):
            name, label = next(headings)
            heading = HEADING.match(line)
            line = f"{heading.group(1)} {heading.group(2)} {{#{label}}}"
        elif is_text:
            line = SOURCES.sub(lambda match: f"](@ref reference_{REFERENCES[match.group(1)]})", CODE.sub(r"[\1](", line))
            line = FORMULA.sub(r"\\f$\1\\f$", LINK.sub(reference, BESIDE.sub("](", line)))
        lines.append(line)
    if page.parent.name == "pages" and page.stem != "mainpage":
        if not lines[0].startswith("# ") or lines[1]:
            sys.exit(f"{page}: begins with a title and an empty line")
        lines[1] = "[TOC]"
    sys.stdout.write("\n".join(with_blocks(with_tabs(page, lines))))


if __name__ == "__main__":
    main()
