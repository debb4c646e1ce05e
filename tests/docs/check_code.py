"""Checks that the code in the README and in every page is, line for line, code of a program that the tests compile, and that
the pages read well where Markdown is shown as it is: they have no commands of Doxygen.

Usage: check_code.py SOURCE_DIRECTORY [--update]                  # --update writes the code of the programs into the pages

A block of code follows a line that says where it is from. Where Markdown is shown as it is, that line is not seen:

    <!-- code docs/examples/quickstart.c quickstart -->           # the code between two marks [quickstart] of that file
    ```c
    ...
    ```

Without a name of a part, the block is the whole file. Code begins at the left margin. Lines that only mark a part are left
out. A block of one of the languages below that has no such line is refused, except those in `BY_HAND`.
"""

import difflib
import pathlib
import re
import sys
import textwrap

LANGUAGES = {".c": "c", ".h": "c", ".cpp": "cpp", ".hpp": "cpp", ".rs": "rust", ".cs": "csharp", ".jl": "julia",
             ".lua": "lua", ".py": "python"}
BLOCK = re.compile(r"^<!-- code (\S+)(?: (\S[^\n]*?))? -->\n```(\w+)\n(.*?)^```$", flags=re.M | re.S)
FENCE = re.compile(r"^ {0,3}(?:```+|~~~+) *\{?\.?([\w+#]*)[^\n]*\n.*?^ {0,3}(?:```+|~~~+) *$", flags=re.M | re.S)
MARK = re.compile(r"^\s*(?://|/\*|#|--)\S*\s*\[([\w ]+)\](?: \*/)?$")

# Names of languages with which a block could be written by hand.
NAMES = {*LANGUAGES.values(), "c++", "cs", "c#", "rs", "jl", "h", "hpp", "cc", "py"}
# Fragments of the reader's own program, for which there is no example: page, first line.
BY_HAND = {("bindings/julia/Synfire/README.md", "using Flux"), ("docs/pages/start-python.md", "import synfire.torch"),
           ("docs/pages/files.md", "from safetensors import safe_open")}


class CodeError(Exception):
    """A block that names no code."""


def code(path, part):
    """The lines of a part of a program, or of the whole program, as a page shows them: with a line feed at the end."""
    lines = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
    if part:
        marks = [number for number, line in enumerate(lines) if (mark := MARK.match(line)) and mark.group(1) == part]
        if len(marks) != 2:
            raise CodeError(f"{path.name} has {len(marks)} marks [{part}], not two")
        lines = lines[marks[0] + 1 : marks[1]]
    shown = textwrap.dedent("\n".join(line for line in lines if not MARK.match(line))).strip("\n")
    if "```" in shown:
        raise CodeError(f"{path.name} has three backticks, which would end the block")
    return shown + "\n"


def pages_of(root):
    return [root / "README.md", *sorted((root / "docs").glob("**/*.md")), *sorted((root / "bindings").glob("**/*.md"))]


def check(root, page, update):
    """The number of blocks of a page that show code of programs, and what is wrong with the page."""
    name, text = page.relative_to(root).as_posix(), page.read_text(encoding="utf-8")
    problems, shown = [], set()

    def compare(match):
        where, part, language, lines = match.groups()
        shown.add(match.end())
        path = root / where
        if path.suffix not in LANGUAGES or not path.is_file():
            problems.append(f"{name}: {where} is not a program")
            return match.group(0)
        try:
            expected = code(path, part)
        except CodeError as error:
            problems.append(f"{name}: {error}")
            return match.group(0)
        if language != LANGUAGES[path.suffix] and not update:
            problems.append(f"{name}: {where} is {LANGUAGES[path.suffix]}, not {language}")
        if lines != expected and not update:
            problems.extend(difflib.unified_diff(expected.split("\n"), lines.split("\n"), where, name, lineterm=""))
        return f"<!-- code {where}{' ' + part if part else ''} -->\n```{LANGUAGES[path.suffix]}\n{expected}```"

    updated = BLOCK.sub(compare, text)
    for fence in FENCE.finditer(text):
        first = fence.group(0).split("\n")[1]
        if fence.end() not in shown and fence.group(1).lower() in NAMES and (name, first) not in BY_HAND:
            problems.append(f"{name}: code by hand; take it from a program that the tests compile: {first}")
    if len(re.findall("^<!-- code ", text, flags=re.M)) != len(shown):
        problems.append(f"{name}: <!-- code ... --> without a block of code below it")
    plain = re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S))
    for command in re.findall(r"(?<![\w.])[@\\][a-z]+[^\n]*|^\[TOC\]", plain, flags=re.M):
        problems.append(f"{name}: means nothing where Markdown is shown as it is: {command}")
    if update and updated != text:
        page.write_text(updated, encoding="utf-8")
    return len(shown), problems


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    results = [check(root, page, sys.argv[2:] == ["--update"]) for page in pages_of(root)]
    problems = [problem for _, some in results for problem in some]
    blocks = sum(number for number, _ in results)
    print("\n".join(problems))
    print(f"{len(results)} pages, {blocks} blocks of code, {len(problems)} problems")
    return 1 if problems or not blocks else 0


if __name__ == "__main__":
    sys.exit(main())
