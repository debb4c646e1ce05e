"""The page on errors lists exactly the rule ids that the library can answer with.

Usage: check_rule_ids.py SOURCE_DIRECTORY
"""

import pathlib
import re
import sys

RULE = re.compile(r"SYN-[A-Z0-9]+(?:-[A-Z0-9]+)*")


def main():
    root = pathlib.Path(sys.argv[1])
    used = set()
    for folder in ("src", "capi"):
        for path in (root / folder).rglob("*"):
            if path.suffix in {".cpp", ".hpp", ".cu", ".cuh"}:
                # Comments may speak of any id; code means it.
                text = re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))
                used.update(RULE.findall(text))
    page = root / "docs" / "pages" / "errors.md"
    rows = re.findall(r"^\| `(SYN-[A-Z0-9-]+)` \|", page.read_text(encoding="utf-8"), flags=re.M)
    problems = [f"{rule}: used by the library, not in {page.name}" for rule in sorted(used - set(rows))]
    problems += [f"{rule}: in {page.name}, not used by the library" for rule in sorted(set(rows) - used)]
    problems += [f"{rule}: listed twice" for rule in sorted(set(rows)) if rows.count(rule) > 1]
    print("\n".join(problems))
    print(f"{len(used)} rule ids, {len(problems)} problems")
    return 1 if problems or not used else 0


if __name__ == "__main__":
    sys.exit(main())
