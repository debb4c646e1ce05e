"""Checks that every public function states its contract: blocks, allocates, enqueues, capture, threads, since.

Usage: check_contract.py synfire.h XML_DIRECTORY

The functions are read from the header and their documentation from Doxygen's XML, so that a function missing from the
XML fails too. Anonymous enums and every struct field must be documented as well.
"""

import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

CONTRACT = ("Blocks", "Allocates", "Enqueues", "Capture", "Threads")


def text_of(element):
    return " ".join("".join(element.itertext()).split()) if element is not None else ""


def declared_functions(header):
    text = re.sub(r"/\*.*?\*/", "", header.read_text(encoding="utf-8"), flags=re.S)
    return set(re.findall(r"^SYNFIRE_API\b[^;(]*?\b(synfire_\w+)\s*\(", text, flags=re.M))


def check_function(member):
    name = member.findtext("name")
    description = member.find("detaileddescription")
    problems = []
    stated = {}
    since = ""
    for section in description.iter("simplesect"):
        if section.get("kind") == "par":
            stated[text_of(section.find("title"))] = " ".join(text_of(p) for p in section.findall("para"))
        elif section.get("kind") == "since":
            since = text_of(section)
    for item in CONTRACT:
        if not re.search(r"\w", stated.get(item, "")):
            problems.append(f"{name}: no @{item.lower()}")
    if not re.fullmatch(r"ABI \d+\.\d+", since):
        problems.append(f"{name}: @since says '{since}', expected 'ABI major.minor'")
    if not text_of(member.find("briefdescription")):
        problems.append(f"{name}: no summary")
    returns_something = text_of(member.find("type")) != "void"
    if returns_something and not any(s.get("kind") == "return" for s in description.iter("simplesect")):
        problems.append(f"{name}: no @return")
    return problems


def main():
    header, xml = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    declared = declared_functions(header)
    documented = {}
    problems = []
    fields = 0
    for path in sorted(xml.glob("*.xml")):
        for member in ElementTree.parse(path).getroot().iter("memberdef"):
            kind, name = member.get("kind"), member.findtext("name")
            described = text_of(member.find("briefdescription")) or text_of(member.find("detaileddescription"))
            if kind == "function":
                documented[name] = member
            elif kind == "variable" and path.name.startswith("struct"):
                fields += 1
                if not described:
                    problems.append(f"{path.stem}: field {name} is not documented")
            elif kind == "enum":
                values = [value.findtext("name") for value in member.findall("enumvalue")]
                if not described:
                    problems.append(f"the enum of {values[0]} is not documented")
                for value in member.findall("enumvalue"):
                    if not (text_of(value.find("briefdescription")) or text_of(value.find("detaileddescription"))):
                        problems.append(f"{value.findtext('name')} is not documented")
    if not declared:
        problems.append(f"no function found in {header}")
    for name in sorted(declared - set(documented)):
        problems.append(f"{name}: declared in {header.name}, absent from the documentation")
    for name in sorted(declared & set(documented)):
        problems.extend(check_function(documented[name]))
    for problem in problems:
        print(problem)
    print(f"{len(declared)} functions, {fields} fields, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
