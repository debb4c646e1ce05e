#!/usr/bin/env python3
"""Describes the C ABI as JSON, from the header alone: extract.py [--check] [HEADER [DESCRIPTION]]

Without --check the description is rewritten; with it, a stale one is an error, with the difference shown.

What lives here: reading synfire.h, which is plain enough that the standard library suffices. Sizes and offsets follow from
the rules of every 64-bit platform (natural alignment); the tests compare them with what the compiler says.
What does not: how a language spells a type (bindings/LANGUAGE's own generator).

The description has
    abi        major, minor
    handles    name, doc: pointers to incomplete structures
    aliases    name, type, doc: other names of integer types
    callbacks  name, returns, parameters, doc: pointers to functions
    constants  name, value, type, group, doc: enumerators; those of one `enum { }` share a group, the common prefix
    structs    name, size, doc, fields: name, type, array (0: none), offset, size, nullable, doc
    functions  name, returns, parameters (name, type, nullable), group, since, doc
in the order of the header. Types are C's, with single spaces and without the markers.

SPDX-License-Identifier: MIT
"""
import difflib
import json
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIZES = {"char": 1, "int8_t": 1, "uint8_t": 1, "int16_t": 2, "uint16_t": 2, "int32_t": 4, "uint32_t": 4, "int64_t": 8,
         "uint64_t": 8, "float": 4, "double": 8}
DOC = re.compile(r"/\*\*(.*?)\*/", re.S)


def fail(message):
    sys.exit(f"extract.py: {message}")


def plain(comment):
    """The text of a documentation comment, without its decoration."""
    lines = [re.sub(r"^\s*\*? ?", "", line).rstrip() for line in comment.strip().splitlines()]
    return "\n".join(lines).strip()


def brief(text):
    """The text before the first command or empty line, as one line."""
    head = re.split(r"\n\s*\n|\n@", "\n" + text.strip())[0] if not text.startswith("@") else ""
    return " ".join(head.split())


def clean_type(text):
    text = re.sub(r"\bSYNFIRE_(API|CALL|NOEXCEPT|NULLABLE)\b", " ", text)
    return re.sub(r"\s*\*\s*", " *", " ".join(text.split())).replace("* *", "**").strip()


def declarator(text):
    """`const char *name SYNFIRE_NULLABLE` -> name, type, nullable, array length."""
    nullable = "SYNFIRE_NULLABLE" in text
    match = re.fullmatch(r"(.*?)(\w+)\s*(?:\[(\d+)\])?", text.replace("SYNFIRE_NULLABLE", " ").strip(), re.S)
    if not match or not match[1].strip():
        fail(f"cannot read the declaration '{text}'")
    return match[2], clean_type(match[1]), nullable, int(match[3] or 0)


def parameters(text):
    text = text.strip()
    if text in ("", "void"):
        return []
    read = []
    for part in text.split(","):
        name, kind, nullable, array = declarator(part)
        if array:
            fail(f"an array as a parameter: '{part}'")
        read.append({"name": name, "type": kind, "nullable": nullable})
    return read


class Header:
    def __init__(self, text):
        text = re.sub(r"/\*\* @cond PLATFORM \*/.*?/\*\* @endcond \*/", "", text, flags=re.S)
        text = text.replace("\\\n", " ")
        self.group = ""
        self.result = {"abi": {}, "handles": [], "aliases": [], "callbacks": [], "constants": [], "structs": [],
                       "functions": []}
        for name in ("MAJOR", "MINOR"):
            match = re.search(rf"#define SYNFIRE_ABI_{name} (\d+)", text)
            if not match:
                fail(f"no SYNFIRE_ABI_{name}")
            self.result["abi"][name.lower()] = int(match[1])
        text = re.sub(r"^[ \t]*#.*$", "", text, flags=re.M)
        self.sizes = dict(SIZES)
        self.read(text)

    def read(self, text):
        doc, at = "", 0
        while at < len(text):
            match = re.compile(r"\s+").match(text, at)
            if match:
                at = match.end()
                continue
            match = DOC.match(text, at)
            if match:
                doc = plain(match[1])
                found = re.search(r"@addtogroup (\w+)", doc)
                if found:
                    self.group = found[1]
                at = match.end()
                continue
            if text.startswith("/*", at):
                at = text.index("*/", at) + 2
                continue
            at = self.declaration(text, at, doc)
            doc = ""

    def declaration(self, text, at, doc):
        """Reads one declaration and returns where it ends."""
        match = re.compile(r"typedef struct (\w+) \*(\w+)\s*;").match(text, at)
        if match:
            self.result["handles"].append({"name": match[2], "struct": match[1], "doc": brief(doc)})
            self.sizes[match[2]] = 8
            return match.end()
        match = re.compile(r"typedef struct (\w+) \{(.*?)\}\s*(\w+)\s*;", re.S).match(text, at)
        if match:
            self.struct(match[3], match[2], doc)
            return match.end()
        match = re.compile(r"enum\s*\{(.*?)\}\s*;", re.S).match(text, at)
        if match:
            self.enum(match[1])
            return match.end()
        callback = r"typedef ([\w\s*]+?)\(\s*(?:SYNFIRE_CALL)?\s*\*\s*(\w+)\)\s*\((.*?)\)[^;()]*;"
        match = re.compile(callback, re.S).match(text, at)
        if match:
            self.result["callbacks"].append({"name": match[2], "returns": clean_type(match[1]),
                                             "parameters": parameters(match[3]), "doc": brief(doc)})
            self.sizes[match[2]] = 8
            return match.end()
        match = re.compile(r"typedef (\w+) (\w+)\s*;").match(text, at)
        if match:
            self.result["aliases"].append({"name": match[2], "type": match[1], "doc": brief(doc)})
            self.sizes[match[2]] = self.sizes[match[1]]
            return match.end()
        match = re.compile(r"SYNFIRE_API\s+([^();]*?)\(([^()]*)\)\s*SYNFIRE_NOEXCEPT\s*;", re.S).match(text, at)
        if match:
            name, returns, _, _ = declarator(re.sub(r"\bSYNFIRE_CALL\b", " ", match[1]))
            since = re.search(r"@since ABI ([\d.]+)", doc)
            if not since:
                fail(f"{name} does not say since when")
            self.result["functions"].append({"name": name, "returns": returns, "parameters": parameters(match[2]),
                                             "group": self.group, "since": since[1], "doc": brief(doc)})
            return match.end()
        fail(f"cannot read '{text[at:at + 60]}'")

    def fields(self, body):
        doc, at = "", 0
        for match in re.finditer(r"/\*\*(.*?)\*/|([^;/]+);", body, re.S):
            if body[at:match.start()].strip():
                fail(f"cannot read the field '{body[at:match.start()].strip()}'")
            at = match.end()
            if match[2] is None:
                doc = plain(match[1])
            else:
                yield declarator(match[2].strip()), " ".join(doc.split())
                doc = ""

    def struct(self, name, body, doc):
        offset, alignment, fields = 0, 1, []
        for (field, kind, nullable, array), text in self.fields(body):
            size = 8 if kind.endswith("*") else self.sizes.get(kind)
            if size is None:
                fail(f"{name}.{field} has the unknown type '{kind}'")
            offset = -(-offset // size) * size
            alignment = max(alignment, size)
            fields.append({"name": field, "type": kind, "array": array, "offset": offset, "size": size * max(array, 1),
                           "nullable": nullable, "doc": text})
            offset += size * max(array, 1)
        size = -(-offset // alignment) * alignment
        self.result["structs"].append({"name": name, "size": size, "doc": brief(doc), "fields": fields})

    def enum(self, body):
        doc, at, read = "", 0, []
        for match in re.finditer(r"/\*\*(.*?)\*/|(SYNFIRE_\w+)\s*=\s*(-?(?:0x[0-9a-f]+|\d+))\s*(?:,|(?=\s*$))", body, re.S):
            if body[at:match.start()].strip():
                fail(f"cannot read the enumerator '{body[at:match.start()].strip()}'")
            at = match.end()
            if match[2] is None:
                doc = plain(match[1])
            else:
                read.append((match[2], int(match[3], 0), " ".join(doc.split())))
                doc = ""
        # SYNFIRE_OK and its errors have no prefix of their own: they are what synfire_status holds.
        prefix = os.path.commonprefix([name for name, _, _ in read])
        prefix = prefix[:prefix.rindex("_") + 1]
        group = prefix[len("SYNFIRE_"):].rstrip("_").lower() or "status"
        for name, value, text in read:
            self.result["constants"].append({"name": name, "value": value, "type": "int32_t", "group": group,
                                             "doc": text})


def main():
    arguments = [a for a in sys.argv[1:] if a != "--check"]
    header = pathlib.Path(arguments[0]) if arguments else ROOT / "include/synfire/synfire.h"
    description = pathlib.Path(arguments[1]) if len(arguments) > 1 else ROOT / "bindings/api/synfire.json"
    text = header.read_text(encoding="utf-8")
    result = Header(text).result
    # Nothing that the header exports may have been overlooked.
    for name in re.findall(r"\b(synfire_\w+)\((?!SYNFIRE_CALL)", re.sub(r"/\*.*?\*/", "", text, flags=re.S)):
        if not any(f["name"] == name for f in result["functions"]):
            fail(f"{name} was not found")
    fresh = json.dumps(result, indent=1, ensure_ascii=False) + "\n"
    if "--check" not in sys.argv:
        description.write_text(fresh, encoding="utf-8")
        return
    recorded = description.read_text(encoding="utf-8") if description.exists() else ""
    if recorded != fresh:
        sys.stdout.writelines(difflib.unified_diff(recorded.splitlines(True), fresh.splitlines(True), str(description),
                                                   "what the header says"))
        fail(f"{description} is stale: bindings/update.sh rewrites it")
    print(f"{len(result['functions'])} functions, {len(result['structs'])} structures, {len(result['constants'])} constants")


if __name__ == "__main__":
    main()
