"""Checks that a test runs every row of the page "Coming from SpikingJelly", and that every such test has its row.

Usage: check_spikingjelly_rows.py docs/pages/coming-from-spikingjelly.md coming_from_spikingjelly_test.cpp

The last cell of a row names its tests.
"""

import pathlib
import re
import sys


def main():
    page, source = (pathlib.Path(path).read_text(encoding="utf-8") for path in sys.argv[1:3])
    tests = set(re.findall(r"^TEST_F\(ComingFromSpikingJelly, (\w+)\)", source, flags=re.M))
    named, problems, rows = set(), [], 0
    lines = page.split("\n")
    for i, line in enumerate(lines):
        heading = i + 1 < len(lines) and re.match(r"\|( --- \|)+$", lines[i + 1])
        if not line.startswith("|") or heading or re.match(r"\|( --- \|)+$", line):
            continue
        rows += 1
        in_row = set(re.findall(r"`(\w+)`", line.rstrip("| ").split("|")[-1]))
        if not in_row:
            problems.append(f"no test: {line}")
        problems += [f"there is no test {name}: {line}" for name in sorted(in_row - tests)]
        named |= in_row
    problems += [f"test {name} has no row" for name in sorted(tests - named)]
    print("\n".join(problems))
    print(f"{rows} rows, {len(tests)} tests, {len(problems)} problems")
    return 1 if problems or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
