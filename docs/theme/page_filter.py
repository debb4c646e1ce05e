"""Prints a page as Doxygen wants it. Pages are written so that their links work where Markdown is shown as it is; this
makes the same links work in the built documentation:

- a link to a heading, page.md#some-heading or #some-heading: every heading gets that name as its label;
- a link whose text is code, which Doxygen shows with its backticks: its text becomes plain;
- a picture, a program that draws pictures, a file of evidence, an example of a model: all of them lie beside the built
  pages.

With --programs, it writes copies of programs of which the parts that pages show, between two marks such as [quickstart],
begin at the left margin.

Usage: page_filter.py PAGE.md                    # lines stay lines, so that Doxygen's messages have the right numbers
       page_filter.py --programs OUTPUT FOLDER...
"""

import pathlib
import re
import sys
import textwrap

HEADING = re.compile(r"^(##+) (.*?)(?: \{#([\w-]+)\})?$")
LINK = re.compile(r"\]\(([^)\s#]*)#([\w-]+)\)")
CODE = re.compile(r"\[`([^`\]]+)`\]\(")
MARK = re.compile(r"^\s*(?://|/\*|#)\S*\s*\[([\w ]+)\](?: \*/)?$")
BESIDE = re.compile(r"\]\((?:\.\./)?(?:images|pictures|evidence|examples/models)/")


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


def program(path):
    """The program with each marked part moved to the left. Parts may not overlap; one that does stays where it is."""
    lines = path.read_text(encoding="utf-8").split("\n")
    begin, name = 0, None
    for number, line in enumerate(lines):
        mark = MARK.match(line)
        if mark and name is None:
            begin, name = number + 1, mark.group(1)
        elif mark and mark.group(1) == name:
            lines[begin:number] = textwrap.dedent("\n".join(lines[begin:number])).split("\n")
            name = None
    return "\n".join(lines)


def copy_programs(output, folders):
    for folder in map(pathlib.Path, folders):
        for path in folder.rglob("*"):
            if path.suffix in (".c", ".h", ".cpp", ".hpp", ".rs", ".cs", ".jl"):
                copy = output / folder.parent.name / folder.name / path.relative_to(folder)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_text(program(path), encoding="utf-8")


def main():
    if sys.argv[1] == "--programs":
        copy_programs(pathlib.Path(sys.argv[2]), sys.argv[3:])
        return
    page = pathlib.Path(sys.argv[1])
    own = labels(page)
    headings = iter(own.items())

    def reference(match):
        target = (page.parent / match.group(1)) if match.group(1) else page
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
            line = LINK.sub(reference, BESIDE.sub("](", CODE.sub(r"[\1](", line)))
        lines.append(line)
    sys.stdout.write("\n".join(lines))


if __name__ == "__main__":
    main()
