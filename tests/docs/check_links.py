"""Checks links: every file that README.md, CHANGELOG.md or a page of docs/ or bindings/ links to exists; every page of
docs/ is built, is in the menu, and can be reached from the README and from the main page of the built documentation.

Usage: check_links.py SOURCE_DIRECTORY
"""

import pathlib
import re
import sys

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)|<(?:img|a)\b[^>]*\b(?:src|href)=\"([^\"]+)\"")


def targets_of(page):
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for match in LINK.finditer(text):
        target = (match.group(1) or match.group(2)).split("#")[0]
        if target and not re.match(r"[a-z]+:", target) and not target.startswith("@"):
            yield target


def reachable_from(start, targets):
    reached, waiting = set(), [start]
    while waiting:
        page = waiting.pop()
        if page in reached or page not in targets:
            continue
        reached.add(page)
        waiting += [(page.parent / target).resolve() for target in targets[page]]
    return reached


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    pages = [root / "README.md", root / "CHANGELOG.md", *sorted((root / "docs").glob("**/*.md")),
             *sorted((root / "bindings").glob("**/*.md"))]
    targets = {page: list(targets_of(page)) for page in pages}
    problems = [f"{page.relative_to(root)}: {target} does not exist"
                for page in pages for target in targets[page] if not (page.parent / target).exists()]
    built = (root / "docs" / "Doxyfile.in").read_text(encoding="utf-8")
    for start in (root / "README.md", root / "docs" / "pages" / "mainpage.md"):
        reached = reachable_from(start, targets)
        problems += [f"{page.relative_to(root)}: no way of links from {start.relative_to(root)}"
                     for page in pages if page.parent == root / "docs" / "pages" and page not in reached
                     and page.name != "mainpage.md"]
    problems += [f"{page.relative_to(root)}: not in docs/Doxyfile.in"
                 for page in pages if page.parent == root / "docs" / "pages" and f"/docs/pages/{page.name}\"" not in built]
    menu = (root / "docs" / "theme" / "layout.xml").read_text(encoding="utf-8")
    problems += [f"{page.relative_to(root)}: not in the menu, docs/theme/layout.xml" for page in pages
                 if page.parent == root / "docs" / "pages" and page.name != "mainpage.md"
                 and f"\"@ref md_docs_pages_{page.stem.replace('-', '_')}\"" not in menu]
    links = sum(len(some) for some in targets.values())
    print("\n".join(problems))
    print(f"{len(pages)} pages, {links} links to files, {len(problems)} problems")
    return 1 if problems or not links else 0


if __name__ == "__main__":
    sys.exit(main())
