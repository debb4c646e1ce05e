"""Every file that README.md, CHANGELOG.md or a page of docs/ links to exists.

Usage: check_links.py SOURCE_DIRECTORY
"""

import pathlib
import re
import sys

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)|<(?:img|a)\b[^>]*\b(?:src|href)=\"([^\"]+)\"")


def main():
    root = pathlib.Path(sys.argv[1])
    pages = [root / "README.md", root / "CHANGELOG.md", *sorted((root / "docs").glob("**/*.md"))]
    problems, links = [], 0
    for page in pages:
        text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
        for match in LINK.finditer(text):
            target = (match.group(1) or match.group(2)).split("#")[0]
            if not target or re.match(r"[a-z]+:", target) or target.startswith("@"):
                continue
            links += 1
            if not (page.parent / target).exists():
                problems.append(f"{page.relative_to(root)}: {target} does not exist")
    print("\n".join(problems))
    print(f"{len(pages)} pages, {links} links to files, {len(problems)} broken")
    return 1 if problems or not links else 0


if __name__ == "__main__":
    sys.exit(main())
