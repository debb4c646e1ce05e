"""Checks that the pictures of models and surrogates in docs/images are, byte for byte, those that the library draws,
and that each is on a page.

Usage: check_pictures.py SOURCE_DIRECTORY SYNFIRE_PICTURES [--update]

--update writes the pictures to docs/images.
"""

import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree


def main():
    root, program = pathlib.Path(sys.argv[1]), sys.argv[2]
    update = sys.argv[3:] == ["--update"]
    images = root / "docs" / "images"
    pages = "".join(page.read_text(encoding="utf-8") for page in (root / "docs").glob("**/*.md"))
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, folder], check=True)
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
    committed = {path.name for pattern in ("model-*.svg", "surrogate-*.svg") for path in images.glob(pattern)}
    problems += [f"docs/images/{name}: nothing draws it" for name in sorted(committed - set(drawn))]
    print("\n".join(problems))
    print(f"{len(drawn)} pictures, {len(problems)} problems")
    return 1 if problems or not drawn else 0


if __name__ == "__main__":
    sys.exit(main())
