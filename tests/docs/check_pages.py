"""Checks the built documentation: it shows the code of the pages to the letter, has its pictures, its links lead somewhere,
it loads nothing from a network, and nothing in its style sheet makes a page higher than the window that shows it.

Usage: check_pages.py SOURCE_DIRECTORY HTML_DIRECTORY
"""

import collections
import html as markup
import pathlib
import re
import sys


def letters(code):
    """Code without what Doxygen changes in it: white space."""
    return re.sub(r"\s+", "", code.replace("\u00a0", " "))


def blocks_of_code(path):
    """The blocks of code of a built page."""
    for block in re.findall(r"<div class=\"fragment\">(.*?)</div><!-- fragment -->", path.read_text(encoding="utf-8"), flags=re.S):
        lines = re.findall(r"<div class=\"line\">(.*?)</div>$", block, flags=re.M)  # and no descriptions of what is linked
        yield letters(markup.unescape(re.sub(r"<[^>]*>", "", "\n".join(lines))))


def main():
    root, html = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    problems = []
    pages = sorted((root / "docs" / "pages").glob("*.md"))
    in_html = collections.Counter(code for path in html.glob("*.html") for code in blocks_of_code(path))
    blocks = 0
    for page in pages:
        for code in re.findall(r"^<!-- code [^\n]*\n```\w+\n(.*?)^```$", page.read_text(encoding="utf-8"), flags=re.M | re.S):
            blocks += 1
            if not in_html[letters(code)]:
                problems.append(f"{page.name}: the built page does not have this block as it is written:\n{code}")
    if not blocks:
        problems.append("no page shows code")
    # The pages scroll inside #doc-content. What is placed absolutely inside that, but by no box of its own, is part of the
    # document around it, which would then scroll too.
    style = re.sub(r"/\*.*?\*/", "", (root / "docs" / "theme" / "synfire.css").read_text(encoding="utf-8"), flags=re.S)
    for rule in re.findall(r"[^{}]*\{[^{}]*\bposition:\s*(?:absolute|fixed)[^{}]*\}", style):
        problems.append(f"synfire.css: this adds a second scroll bar to the pages: {' '.join(rule.split())}")
    shown = sorted(html.glob("*.html"))
    pictures = tabs = 0
    targets = {}  # file: what may follow a # in a link to it
    for path in shown:
        targets[path.name] = set(re.findall(r"\b(?:id|name)=\"([^\"]+)\"", path.read_text(encoding="utf-8")))
    for path in shown:
        text = path.read_text(encoding="utf-8")
        for name, anchor in re.findall(r"<a\b[^>]*?\bhref=\"([^\"#:]*)(?:#([^\"]*))?\"", text):
            if name and not (html / name).is_file():
                problems.append(f"{path.name}: the link to {name} leads nowhere")
            elif anchor and (name or path.name) in targets and anchor not in targets[name or path.name]:
                problems.append(f"{path.name}: the link to {name}#{anchor} leads nowhere")
        for address in re.findall(r"<(?:script|link|img|object|iframe)\b[^>]*?\b(?:src|href|data)=\"(https?:[^\"]+)\"", text):
            problems.append(f"{path.name}: loads {address}")
        if "\\ilinebr" in text:
            problems.append(f"{path.name}: a cell of a table ran into the next: Doxygen ends code at an apostrophe")
        buttons = re.findall(r"<input type=\"radio\" name=\"([^\"]+)\" (checked )?id=\"([^\"]+)\"", text)
        tabs += len(buttons)
        for group in {group for group, _, _ in buttons}:
            if sum(bool(checked) for name, checked, _ in buttons if name == group) != 1:
                problems.append(f"{path.name}: not one tab of {group} is shown at first; is the name of the group unique?")
        for identity in {identity for _, _, identity in buttons}:
            if text.count(f" id=\"{identity}\"") != 1 or text.count(f"<label for=\"{identity}\">") != 1:
                problems.append(f"{path.name}: the tab {identity} occurs twice, or has no label")
        if text.count("<div class=\"tab\">") != len(buttons) or text.count("<div") != text.count("</div"):
            problems.append(f"{path.name}: tabs or other blocks are not closed")
        for name in re.findall(r"<(?:img|object)\b[^>]*?\b(?:src|data)=\"([^\":]+)\"", text):
            pictures += 1
            if not (html / name).is_file() or ".." in name:
                problems.append(f"{path.name}: the picture {name} is not among the files")
    for needed in ("index.html", "mathjax/MathJax.js", "mathjax/jax/output/HTML-CSS/jax.js"):
        if not (html / needed).exists():
            problems.append(f"{needed} is missing")
    print("\n".join(problems))
    print(f"{len(pages)} pages, {blocks} blocks of code, {len(shown)} HTML files, {pictures} pictures, {tabs} tabs, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
