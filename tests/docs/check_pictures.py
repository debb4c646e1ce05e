"""Checks that the pictures in docs/images that a program draws with the library are, byte for byte, what it draws, and
that each is on a page.

Usage: check_pictures.py SOURCE_DIRECTORY PATTERNS [--update] PROGRAM [ARGUMENT]...

PATTERNS, separated by commas, are the names of its pictures: "model-*.svg,surrogate-*.svg". The program's last argument
is the folder into which it draws. --update writes the pictures to docs/images.
"""

import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree


def main():
    root, patterns, command = pathlib.Path(sys.argv[1]), sys.argv[2].split(","), sys.argv[3:]
    update = command[:1] == ["--update"]
    if update:
        command = command[1:]
    images = root / "docs" / "images"
    pages = "".join(page.read_text(encoding="utf-8") for page in (root / "docs").glob("**/*.md"))
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([*command, folder], check=True)
        drawn = {path.name: path.read_bytes() for path in sorted(pathlib.Path(folder).iterdir())}
    for name, picture in drawn.items():
        ElementTree.fromstring(picture)  # well-formed; otherwise the exception fails the test
        if update:
            (images / name).write_bytes(picture)
        if not (images / name).exists():
            problems.append(f"docs/images/{name} is missing")
        elif (images / name).read_bytes() != picture:
            problems.append(f"docs/images/{name} is not what the library draws")
        if name not in pages:
            problems.append(f"{name} is on no page")
    committed = {path.name for pattern in patterns for path in images.glob(pattern)}
    problems += [f"docs/images/{name}: nothing draws it" for name in sorted(committed - set(drawn))]
    print("\n".join(problems))
    print(f"{len(drawn)} pictures, {len(problems)} problems")
    return 1 if problems or not drawn else 0


if __name__ == "__main__":
    sys.exit(main())
