"""Checks that the code in a README is, line for line, the snippet of an example.

Usage: check_readme_snippet.py README.md quickstart.c [LANGUAGE]     # the language of the block in the README, default c
"""

import difflib
import pathlib
import re
import sys
import textwrap


def readme_code(readme, language):
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", readme.read_text(encoding="utf-8"), flags=re.M | re.S)
    return [block.rstrip("\n").split("\n") for block in blocks]


def snippet(source):
    lines = source.read_text(encoding="utf-8").split("\n")
    marks = [i for i, line in enumerate(lines) if re.search(r"\[quickstart\]", line)]
    if len(marks) != 2:
        sys.exit(f"{source}: expected two [quickstart] marks, found {len(marks)}")
    return textwrap.dedent("\n".join(lines[marks[0] + 1 : marks[1]])).split("\n")


def main():
    readme, source = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    language = sys.argv[3] if len(sys.argv) > 3 else "c"
    blocks = readme_code(readme, language)
    if len(blocks) != 1:
        sys.exit(f"{readme}: expected one block of {language}, found {len(blocks)}")
    expected = snippet(source)
    difference = list(difflib.unified_diff(expected, blocks[0], str(source), str(readme), lineterm=""))
    print("\n".join(difference))
    print(f"{len(expected)} lines, {'different' if difference else 'the same'}")
    return 1 if difference else 0


if __name__ == "__main__":
    sys.exit(main())
