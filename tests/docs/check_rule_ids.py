"""Checks that the page on errors lists exactly the rule ids that the library uses, and that tests expect all of them.

A test expects a rule if its id is in a string: "SYN-BUFFER-SIZE" among the words of EXPECT_FAILS, or
"[SYN-BUFFER-SIZE]" compared with a text. tests/capi/errors/rules_test.cpp and tests/fault/rules_test.cpp break each
rule once.

Usage: check_rule_ids.py SOURCE_DIRECTORY
"""

import pathlib
import re
import sys

RULE = re.compile(r"SYN-[A-Z0-9]+(?:-[A-Z0-9]+)*")

# Rules that no test can break, with the reason.
UNBROKEN = {
    "SYN-HANDLE-LIMIT": "needs 16,777,216 live handles, several gigabytes of objects",
    "SYN-CUDA-DRIVER": "needs a driver that loads but lacks functions that every supported driver has",
    "SYN-GRADIENT-ROWS": "needs a layer of 2^32 neurons, whose state alone takes 16 GiB",
    "SYN-INTERNAL": "only reports defects of the library itself",
}


def code_of(path):
    """The code without its comments, which may mention any id."""
    return re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))


def expected_by_tests(root):
    expected = set()
    for path in (root / "tests").rglob("*"):
        # tests/hpp replaces the library and invents texts.
        if path.suffix not in {".cpp", ".hpp", ".cu", ".c"} or "hpp" in path.relative_to(root / "tests").parts:
            continue
        for text in re.findall(r'"((?:[^"\\\n]|\\.)*)"', code_of(path)):
            found = re.match(r"\[?(SYN-[A-Z0-9]+(?:-[A-Z0-9]+)*)(?:\]|$)", text)
            if found:
                expected.add(found.group(1))
    return expected


def main():
    root = pathlib.Path(sys.argv[1])
    used = set()
    for folder in ("src", "capi"):
        for path in (root / folder).rglob("*"):
            if path.suffix in {".cpp", ".hpp", ".cu", ".cuh"}:
                used.update(RULE.findall(code_of(path)))
    page = root / "docs" / "pages" / "errors.md"
    rows = re.findall(r"^\| `(SYN-[A-Z0-9-]+)` \|", page.read_text(encoding="utf-8"), flags=re.M)
    problems = [f"{rule}: used by the library, not in {page.name}" for rule in sorted(used - set(rows))]
    problems += [f"{rule}: in {page.name}, not used by the library" for rule in sorted(set(rows) - used)]
    problems += [f"{rule}: listed twice" for rule in sorted(set(rows)) if rows.count(rule) > 1]
    expected = expected_by_tests(root)
    problems += [f"{rule}: expected by no test" for rule in sorted(used - expected - set(UNBROKEN))]
    problems += [f"{rule}: expected by a test, not used by the library" for rule in sorted(expected - used)]
    problems += [f"{rule}: named as one that no test can break; remove it there" for rule in sorted(UNBROKEN)
                 if rule in expected or rule not in used]
    if problems:
        print("\n".join(problems))
    print(f"{len(used)} rule ids, {len(problems)} problems")
    return 1 if problems or not used else 0


if __name__ == "__main__":
    sys.exit(main())
