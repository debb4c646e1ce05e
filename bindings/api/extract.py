#!/usr/bin/env python3
"""Describes the C ABI as JSON, from the header alone: extract.py [--check] [HEADER [DESCRIPTION]]

Without --check the description is rewritten; with it, a stale one is an error, with the difference shown.

What lives here: reading synfire.h, which is plain enough that the standard library suffices. Sizes and offsets follow from
the rules of every 64-bit platform (natural alignment); the tests compare them with what the compiler says.
How a language spells a type is in bindings/LANGUAGE's own generator.

The description has
    abi        major, minor
    handles    name, doc: pointers to incomplete structures
    aliases    name, type, doc: other names of integer types
    callbacks  name, returns, parameters, doc: pointers to functions
    constants  name, value, type, group, doc: enumerators; those of one `enum { }` share a group, the common prefix
    structs    name, size, doc, fields: name, type, array (0: none), offset, size, nullable, doc, and the field's marks
    functions  name, returns, parameters (name, type, nullable, doc, and the parameter's marks), group, since, doc
    objects    name, handle, create, destroy, desc, fields, doc: handles with a function that creates one on a context from a
               descriptor and one that destroys it; fields as those of operations
    operations name, doc, record, run (null: it cannot run on its own), on (what the immediate call takes: "context" or
               the name of an object; null without one), method (what the immediate call is called there: "forward" of
               a synapse; null without one), layer (whether recording takes a layer), object (the name of the object
               that recording takes beside the graph; null without one), desc, fields: those of the descriptor without
               struct_size and reserved, with the marks that they have in this operation
    methods    name, function, object, doc, parameters: functions of an object that answer a status and are none of the
               above, where the role of each further parameter is known: name, type, nullable, marks, and
               role       "number", "text", "object" (the handle of one), "stream", "list" (with length_of in another
                          parameter), "length" (of that list), "result" (a number that the call gives), "answer" (a
                          structure that it fills in), "part" (a handle of its own that it gives, of another object); "string", "capacity" and "size" (memory for a text that the call
                          gives, the bytes of that memory, and those of the whole text)
in the order of the header. Types are C's, with single spaces and without the markers. The marks are
    access     "read", "written" or "updated", of a buffer, and shape, its text
    with       the field with which it is given; unless: the field without which it is. Both are nullable.
    required   true: a number that has no default
    optional   true: a number of a function that may be left out, as all behind it that the caller gives: it is then 0
    optional_nan  the same for a number that is then NaN
    one_of     the group of constants that the field takes one of; any_of: that it takes a sum of
    flag       true: 0 or 1
    length_of  the field whose entries are counted

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
    # Text that ends with a colon announces a list, which is left to the header.
    return re.sub(r"\. [^.]*:$", ".", " ".join(head.split()))


MARK = re.compile(r'SYNFIRE_(?:(READ|WRITTEN|UPDATED)\("([^"]*)"\)|(ONE_OF|ANY_OF|LENGTH_OF|WITH|UNLESS)\((\w+)\)|(FLAG|NULLABLE|REQUIRED|OPTIONAL_NAN|OPTIONAL)\b)')
FIELD_MARKS = re.compile(r"SYNFIRE_FIELD\((\w+), ((?:[^()]|\([^()]*\))*)\)")


def take_marks(text):
    """`synfire_buffer x SYNFIRE_READ("[B]")` -> `synfire_buffer x`, {"access": "read", "shape": "[B]"}."""
    marks = {}
    for match in MARK.finditer(text):
        access, shape, of, name, plain_mark = match.groups()
        if access:
            marks.update(access=access.lower(), shape=shape)
        elif of == "LENGTH_OF":
            marks["length_of"] = name
        elif of in ("WITH", "UNLESS"):
            marks.update({of.lower(): name, "nullable": True})
        elif of:
            marks[of.lower()] = name[len("SYNFIRE_"):].lower()
        else:
            marks[plain_mark.lower()] = True
    return MARK.sub(" ", text), marks


def split_parameters(text):
    """At the commas that are not inside parentheses or quotation marks."""
    parts, depth, quoted = [""], 0, False
    for letter in text:
        quoted ^= letter == '"'
        depth += {"(": 1, ")": -1}.get(letter, 0) if not quoted else 0
        if letter == "," and depth == 0 and not quoted:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def parameter_docs(text):
    """Returns the texts of `@param name ...`, by name, each on one line."""
    return {match[1]: " ".join(match[2].split())
            for match in re.finditer(r"@param(?:\[[a-z,]+\])?\s+(\w+)\s+(.*?)(?=\n@|\n\s*\n|\Z)", text, re.S)}


def clean_type(text):
    text = re.sub(r"\bSYNFIRE_(API|CALL|NOEXCEPT)\b", " ", text)
    return re.sub(r"\s*\*\s*", " *", " ".join(text.split())).replace("* *", "**").strip()


def declarator(text):
    """`const char *name SYNFIRE_NULLABLE` -> name, type, array length, marks."""
    bare, marks = take_marks(text)
    match = re.fullmatch(r"(.*?)(\w+)\s*(?:\[(\d+)\])?", bare.strip(), re.S)
    if not match or not match[1].strip():
        fail(f"cannot read the declaration '{text}'")
    return match[2], clean_type(match[1]), int(match[3] or 0), marks


def parameters(text):
    text = text.strip()
    if text in ("", "void"):
        return []
    read = []
    for part in split_parameters(text):
        fields = {match[1]: take_marks(match[2])[1] for match in FIELD_MARKS.finditer(part)}
        name, kind, array, marks = declarator(FIELD_MARKS.sub(" ", part))
        if array:
            fail(f"an array as a parameter: '{part}'")
        read.append({"name": name, "type": kind, "nullable": marks.pop("nullable", False), **marks})
        if fields:
            read[-1]["fields"] = fields
    return read


# Objects that are made of a text, with a callback: languages wrap them, and what they do, by hand.
LOADED = {"synfire_model", "synfire_surrogate"}


class Header:
    def __init__(self, text):
        text = re.sub(r"/\*\* @cond PLATFORM \*/.*?/\*\* @endcond \*/", "", text, flags=re.S)
        text = text.replace("\\\n", " ")
        self.group = ""
        self.result = {"abi": {}, "handles": [], "aliases": [], "callbacks": [], "constants": [], "structs": [],
                       "functions": [], "objects": [], "operations": [], "methods": []}
        for name in ("MAJOR", "MINOR"):
            match = re.search(rf"#define SYNFIRE_ABI_{name} (\d+)", text)
            if not match:
                fail(f"no SYNFIRE_ABI_{name}")
            self.result["abi"][name.lower()] = int(match[1])
        text = re.sub(r"^[ \t]*#.*$", "", text, flags=re.M)
        self.sizes = dict(SIZES)
        self.read(text)
        self.structs = {struct["name"]: struct for struct in self.result["structs"]}
        self.functions = {function["name"]: function for function in self.result["functions"]}
        self.objects()
        self.operations()
        self.methods()

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
        match = re.compile(r"SYNFIRE_API\s+([^();]*?)\(([^;]*)\)\s*SYNFIRE_NOEXCEPT\s*;", re.S).match(text, at)
        if match:
            name, returns, _, _ = declarator(re.sub(r"\bSYNFIRE_CALL\b", " ", match[1]))
            since = re.search(r"@since ABI ([\d.]+)", doc)
            if not since:
                fail(f"{name} does not say since when")
            read, docs = parameters(match[2]), parameter_docs(doc)
            for parameter in read:
                parameter["doc"] = docs.get(parameter["name"], "")
            self.result["functions"].append({"name": name, "returns": returns, "parameters": read,
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
        for (field, kind, array, marks), text in self.fields(body):
            size = 8 if kind.endswith("*") else self.sizes.get(kind)
            if size is None:
                fail(f"{name}.{field} has the unknown type '{kind}'")
            offset = -(-offset // size) * size
            alignment = max(alignment, size)
            fields.append({"name": field, "type": kind, "array": array, "offset": offset, "size": size * max(array, 1),
                           "nullable": marks.pop("nullable", False), "doc": text, **marks})
            if kind in ("synfire_buffer", "const synfire_buffer *") and "access" not in fields[-1]:
                fail(f"{name}.{field} does not say whether the buffer is read, written or updated")
            offset += size * max(array, 1)
        self.check_marks(name, fields)
        size = -(-offset // alignment) * alignment
        self.result["structs"].append({"name": name, "size": size, "doc": brief(doc), "fields": fields})

    def check_marks(self, name, fields):
        """Marks that a field does not fit stop the generator here, with its name."""
        of = {field["name"]: field for field in fields}
        lists = {field["length_of"] for field in fields if "length_of" in field}
        for field in fields:
            where, pointer = f"{name}.{field['name']}", field["type"] not in SIZES
            if field.get("required") and (pointer or field["array"] or "length_of" in field or "flag" in field):
                fail(f"{where} is required, but is no number that a caller gives")
            for other in (field.get("with"), field.get("unless")):
                if other is None:
                    continue
                if not pointer or field["name"] in lists:
                    fail(f"{where} is given with or without {other}, but is no object and no text")
                if other not in of or other in lists or not of[other]["nullable"] or \
                        {"with", "unless"} & of[other].keys():
                    fail(f"{where} is given with or without {other}, which is no field that may simply be null")

    def fields_of(self, struct, own):
        """The fields of a descriptor that a caller fills in; `own` are marks that replace a field's."""
        fields = []
        for field in struct["fields"]:
            if field["name"] in ("struct_size", "reserved"):
                continue
            field = {key: value for key, value in field.items() if key not in ("offset", "size")}
            marks = own.get(field["name"])
            if marks:
                field.update(nullable=marks.get("nullable", False),
                             **{key: value for key, value in marks.items() if key != "nullable"})
            fields.append(field)
        return fields

    def objects(self):
        for handle in self.result["handles"]:
            create, destroy = (self.functions.get(f"{handle['name']}_{verb}") for verb in ("create", "destroy"))
            if not create or not destroy:
                continue
            types = [parameter["type"] for parameter in create["parameters"]]
            if len(types) != 3 or types[0] != "synfire_context" or types[2] != f"{handle['name']} *":
                continue
            struct = self.structs[types[1].replace("const ", "").rstrip(" *")]
            self.result["objects"].append({
                "name": handle["name"][len("synfire_"):], "handle": handle["name"], "create": create["name"],
                "destroy": destroy["name"], "desc": struct["name"], "fields": self.fields_of(struct, {}),
                "doc": handle["doc"]})

    def operations(self):
        """Returns the operations that can be recorded, each with the immediate call of the same name."""
        names = {handle["name"]: handle["name"][len("synfire_"):] for handle in self.result["handles"]}
        for function in self.result["functions"]:
            match = re.fullmatch(r"synfire_graph_record_(\w+)", function["name"])
            if not match:
                continue
            *handles, desc = function["parameters"]
            struct = self.structs[desc["type"].replace("const ", "").rstrip(" *")]
            own = desc.get("fields", {})
            for name in own:
                if not any(field["name"] == name for field in struct["fields"]):
                    fail(f"{function['name']} marks {name}, which {struct['name']} does not have")
            owners = [names[handle["type"]] for handle in handles[1:]]
            if len(owners) > 1:
                fail(f"{function['name']} takes more than one object; others are fields of its descriptor")
            run, on, method = None, None, None
            for owner in ("context", *owners):
                # The operation of an object may have its name in front, as the call has: "synapse_forward".
                for candidate in (f"synfire_{match[1]}", f"synfire_{owner}_{match[1]}"):
                    called = self.functions.get(candidate, {"parameters": []})["parameters"]
                    if [parameter["type"] for parameter in called] == [f"synfire_{owner}", desc["type"], "synfire_stream"]:
                        run, on, method = candidate, owner, candidate[len("synfire_"):]
            if run and on != "context":
                method = method[len(on) + 1:]
            self.result["operations"].append({
                "name": match[1], "doc": function["doc"], "record": function["name"], "run": run, "on": on,
                "method": method, "layer": owners == ["layer"], "object": owners[0] if owners else None, "desc": struct["name"],
                "fields": self.fields_of(struct, own)})

    def role(self, parameter, lists):
        """Returns the role of a parameter; None where the header does not say."""
        kind = parameter["type"]
        target = kind.rstrip(" *")
        scalar = self.sizes.get(target) is not None and target not in self.structs
        is_handle = any(kind == handle["name"] for handle in self.result["handles"])
        if "length_of" in parameter:
            return "length"
        if parameter["name"] in lists:
            return "list"
        if kind == "synfire_stream":
            return "stream"
        if is_handle:
            return "object"
        if kind == "const char *":
            return "text"
        if kind.endswith("*") and any(target == handle["name"] for handle in self.result["handles"]):
            return "part" if kind == f"{target} *" else None
        if not kind.endswith("*"):
            return "number" if scalar else None
        if kind == f"{target} *" and target in self.structs:
            return "answer" if self.structs[target]["fields"][0]["name"] == "struct_size" else None
        numbers = set(SIZES) - {"char"}
        return "result" if kind == f"{target} *" and target in numbers else None

    @staticmethod
    def text_roles(parameters, roles):
        """A text that the call gives: `char *text, uint64_t capacity, uint64_t *length`, marked as a list or not."""
        for i in range(len(parameters) - 2):
            three = parameters[i:i + 3]
            if [parameter["type"] for parameter in three] == ["char *", "uint64_t", "uint64_t *"] and \
                    three[1].get("length_of", three[0]["name"]) == three[0]["name"]:
                roles[i:i + 3] = ["string", "capacity", "size"]
        return roles

    def methods(self):
        """Functions of an object whose parameters all have a role."""
        known = {name for operation in self.result["operations"] for name in (operation["record"], operation["run"])}
        known |= {name for made in self.result["objects"] for name in (made["create"], made["destroy"])}
        names = sorted((handle["name"] for handle in self.result["handles"]), key=len, reverse=True)
        for function in self.result["functions"]:
            if function["name"] in known or function["returns"] != "synfire_status" or not function["parameters"]:
                continue
            first, *others = function["parameters"]
            owner = next((name for name in names if function["name"].startswith(name + "_")), None)
            if owner is None or first["type"] != owner or owner in LOADED:
                continue
            lists = {parameter["length_of"] for parameter in others if "length_of" in parameter}
            roles = self.text_roles(others, [self.role(parameter, lists) for parameter in others])
            if None in roles:
                continue
            self.result["methods"].append({
                "name": function["name"][len(owner) + 1:], "function": function["name"],
                "object": owner[len("synfire_"):], "doc": function["doc"],
                "parameters": [{**parameter, "role": role} for parameter, role in zip(others, roles)]})

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
