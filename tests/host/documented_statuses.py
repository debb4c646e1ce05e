"""Writes, as a table in C, which statuses each function of synfire.h may return according to its documentation.

Usage: documented_statuses.py synfire.h symbols.txt OUTPUT

Statuses are read from the whole comment of a function, and from those of functions to which its "@return" refers. The
functions are those of symbols.txt, in its order; one that returns no status has none.
"""

import pathlib
import re
import sys

EVERYWHERE = {"SYNFIRE_ERROR_INTERNAL"}


def main():
    header, symbols, output = sys.argv[1:]
    text = pathlib.Path(header).read_text(encoding="utf-8")
    values = {name: int(value) for name, value in
              re.findall(r"^  (SYNFIRE_(?:OK|PENDING|HOST_FALLBACK|CAPTURED|ERROR_\w+)) = (-?\d+)", text, re.M)}
    comments = {}
    returns_status = set()
    for comment, kind, name in re.findall(r"/\*\*((?:(?!\*/).)*)\*/\s*SYNFIRE_API (.*?)SYNFIRE_CALL (\w+)\(", text, re.S):
        comments[name] = comment
        if kind.strip() == "synfire_status":
            returns_status.add(name)

    def statuses(name, seen=()):
        found = {status for status in re.findall(r"::(SYNFIRE_\w+)", comments[name]) if status in values}
        returned = re.search(r"@return(.*?)(?=\n \* @|\Z)", comments[name], re.S)
        for other in re.findall(r"\b(synfire_\w+)\(\)", returned.group(1) if returned else ""):
            if other not in seen and other != name:
                found |= statuses(other, (*seen, name))
        return found

    lines = []
    for symbol in pathlib.Path(symbols).read_text(encoding="utf-8").split():
        name = symbol.split("@")[0]
        if name not in comments:
            sys.exit(f"{header}: {name} has no documentation")
        listed = sorted(values[status] for status in statuses(name) | EVERYWHERE) if name in returns_status else []
        lines.append("    {" + ", ".join([str(len(listed))] + [str(value) for value in listed]) + "}, /* " + name + " */")
    width = max(line.count(",") for line in lines) + 1
    pathlib.Path(output).write_text(
        "/* Made by documented_statuses.py. How many statuses a function may return, and which. */\n"
        f"const int documented_statuses[][{width}] = {{\n" + "\n".join(lines) + "\n};\n", encoding="utf-8")


if __name__ == "__main__":
    main()
