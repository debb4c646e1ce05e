"""Prints a page as Doxygen wants it. Pages are written so that their links work where Markdown is shown as it is; this
makes the same links work in the built documentation:

- a link to a heading, page.md#some-heading or #some-heading: every heading gets that name as its label;
- a link whose text is code, which Doxygen shows with its backticks: its text becomes plain;
- a picture, a program that draws pictures, a file of evidence: all of them lie beside the built pages.

Usage: page_filter.py PAGE.md          # lines stay lines, so that Doxygen's messages have the right numbers
"""

import pathlib
import re
import sys

HEADING = re.compile(r"^(##+) (.*?)(?: \{#([\w-]+)\})?$")
LINK = re.compile(r"\]\(([^)\s#]*)#([\w-]+)\)")
CODE = re.compile(r"\[`([^`\]]+)`\]\(")
BESIDE = re.compile(r"\]\((?:\.\./)?(?:images|pictures|evidence)/")


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


def main():
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
