"""Checks that the tables of models, surrogates and parameters in docs/pages come from the library's own lists.

Usage: check_tables.py SOURCE_DIRECTORY SYNFIRE_GOLDEN [--update]

`synfire-golden --list --markdown` prints tables between `<!-- table NAME -->` and `<!-- end of table -->`. A page
includes a table between the same two lines. Every table is on at least one page. --update writes them into the pages.
"""

import difflib
import pathlib
import re
import subprocess
import sys

BLOCK = re.compile(r"<!-- table (\S+) -->\n(.*?)<!-- end of table -->\n", flags=re.S)


def block(name, content):
    return f"<!-- table {name} -->\n{content}<!-- end of table -->\n"


def main():
    root, program = pathlib.Path(sys.argv[1]), sys.argv[2]
    update = sys.argv[3:] == ["--update"]
    listed = subprocess.run([program, "--list", "--markdown"], check=True, capture_output=True, encoding="utf-8").stdout
    generated = dict(BLOCK.findall(listed))
    problems, shown = [], set()
    for page in sorted((root / "docs").glob("**/*.md")):
        text = page.read_text(encoding="utf-8")
        for name, content in BLOCK.findall(text):
            shown.add(name)
            if name not in generated:
                problems.append(f"{page.name}: there is no table {name}")
            elif content != generated[name] and not update:
                difference = difflib.unified_diff(content.split("\n"), generated[name].split("\n"), page.name, "generated")
                problems.append("\n".join(line.rstrip("\n") for line in difference))
        if update:
            changed = BLOCK.sub(lambda m: block(m.group(1), generated.get(m.group(1), m.group(2))), text)
            if changed != text:
                page.write_text(changed, encoding="utf-8")
        if text.count("<!-- table ") != len(BLOCK.findall(text)):
            problems.append(f"{page.name}: a table without its end")
    problems += [f"table {name} is on no page" for name in generated if name not in shown]
    print("\n".join(problems))
    print(f"{len(generated)} tables, {len(shown)} shown, {len(problems)} problems")
    return 1 if problems or not generated else 0


if __name__ == "__main__":
    sys.exit(main())
