#!/usr/bin/env python3
"""Writes the mechanical part of synfire.hpp from the description of the C ABI:
generate.py [--check] [DESCRIPTION [HEADER]]

Without --check the marked blocks of include/synfire/synfire.hpp are rewritten; with it, a stale one is an error, with
the difference shown. The blocks are

    descriptors  xxx_desc(), for the descriptor of each operation
    layer        the member functions of Layer that run an operation at once
    context      the free functions that run an operation at once
    graph        the member functions of Graph that record one

What an xxx_desc() takes: first what has no default (buffers, layers and names that may not be null; then the constants
that choose a kind; then numbers), then what has one, each in the order of the header. An integer has a default, 0 where
the header names no other, unless it is to be "at least 1"; a double has one where the header says so. Flags, sums of
constants, bounds, arrays and optional lists are left to the caller, who sets them in the descriptor. Steps and neurons
are types of their own, so that two integers cannot be swapped.

Written by hand, in synfire.hpp:

    forward_desc, backward_desc  take the two buffers that most passes have; the others, all optional, are too many
    native_desc                  is not there: most of the descriptor is lists, which the caller fills in by name
    record_native                wraps the callback, so that it may throw

SPDX-License-Identifier: MIT
"""
import difflib
import json
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
BY_HAND = {"forward_desc", "backward_desc", "native_desc", "record_native"}
NAMED = {"n_steps": "steps", "n_neurons": "neurons"}
NUMBERS = {"int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t", "float", "double"}
COLUMNS = 120


def fail(message):
    sys.exit(f"generate.py: {message}")


def cpp_type(c):
    c = re.sub(r"\b(u?int\d+_t)\b", r"std::\1", c)
    return re.sub(r"\s*\*", "*", c)


def shape_words(shape):
    """A shape of the description, for documentation; nothing where any will do."""
    if shape == "any":
        return ""
    packed = ", dense or packed" if shape.startswith("spikes ") else ""
    shape = re.sub(r"^that of (\w+)$", r"that of `\1`", shape.replace("spikes ", ""))
    return re.sub(r"(\[.*?\])", r"`\1`", shape) + packed


def wrapped(text, head, hanging):
    """Lines of at most COLUMNS columns; what stands between backticks stays together."""
    text = re.sub(r"`[^`]*`", lambda match: match[0].replace(" ", "\0"), text)
    lines = textwrap.wrap(text, COLUMNS, initial_indent=head, subsequent_indent=head + hanging, break_long_words=False,
                          break_on_hyphens=False)
    return [line.replace("\0", " ") for line in lines]


def comment(paragraphs, indent):
    """A documentation comment; a list of lines stays together, with the names of parameters aligned."""
    lines = [indent + "/**"]
    for number, paragraph in enumerate(paragraphs):
        if number:
            lines.append(indent + " *")
        for text, hanging in paragraph if isinstance(paragraph, list) else [(paragraph, "")]:
            lines += wrapped(text, indent + " * ", hanging)
    return lines + [indent + " */"]


def parameters_doc(parameters):
    """`@param name text` for each, aligned."""
    width = max((len(name) for name, _ in parameters), default=0)
    return [(f"@param {name.ljust(width)} {text}", " " * len(f"@param {'':{width}} ")) for name, text in parameters]


def signature(head, parameters, tail, indent):
    """`head(parameters) tail`, broken as clang-format breaks it."""
    line = f"{indent}{head}({', '.join(parameters)}){tail}"
    if len(line) <= COLUMNS:
        return [line]
    lines, hanging = [f"{indent}{head}("], " " * len(f"{indent}{head}(")
    for number, parameter in enumerate(parameters):
        last = number == len(parameters) - 1
        text = parameter + (")" + tail if last else ",")
        if lines[-1].endswith("("):
            lines[-1] += text
        elif len(lines[-1]) + 1 + len(text) <= COLUMNS:
            lines[-1] += " " + text
        else:
            lines.append(hanging + text)
    return lines


def listed(words):
    """a, b and c"""
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def names(fields):
    """Fields with their shapes: `a` (`[B, N]`), `b` and `c`."""
    shapes = [shape_words(field["shape"]).replace("that of", "the shape of") for field in fields]
    return listed([f"`{field['name']}`" + (f" ({shape})" if shape else "") for field, shape in zip(fields, shapes)])


def accesses(operation):
    """What an operation reads and writes, as sentences."""
    sentences = []
    for access, verb in (("read", "Reads"), ("updated", "Reads and writes"), ("written", "Writes")):
        fields = [field for field in operation["fields"] if field.get("access") == access]
        needed = [field for field in fields if not field["nullable"]]
        optional = [field for field in fields if field["nullable"]]
        if needed:
            sentences.append(f"{verb} {names(needed)}.")
        if optional:
            sentences.append(f"{verb}, where given, {names(optional)}.")
    return " ".join(sentences)


class Generator:
    def __init__(self, api):
        self.api = api
        self.structs = {struct["name"]: struct for struct in api["structs"]}
        self.functions = {function["name"]: function for function in api["functions"]}
        self.zero = {constant["group"]: constant["name"] for constant in api["constants"] if constant["value"] == 0}
        self.sums = {}
        for constant in api["constants"]:
            self.sums.setdefault(constant["group"], set()).add(constant["name"].lower().split("_")[-1])

    def helper(self, desc):
        """The name of the function that makes a descriptor."""
        return desc[len("synfire_"):]

    # ---- Descriptors ------------------------------------------------------------------------------------------------

    def sort(self, fields):
        """The fields of a descriptor: those without a default, those with one, and those left to the caller."""
        lengths = {field["length_of"]: field for field in fields if "length_of" in field}
        bounds = set().union(*(self.sums[field["any_of"]] for field in fields if "any_of" in field))
        first, kinds, numbers, optional, left = [], [], [], [], []
        for field in fields:
            pointer = field["type"] not in NUMBERS
            if "flag" in field or "any_of" in field or field["array"] or field["name"] in bounds:
                left.append(field)
            elif "length_of" in field:
                if any(f["name"] == field["length_of"] and f["nullable"] for f in fields):
                    left.append(field)
            elif field["name"] in lengths and field["nullable"]:
                left.append(field)
            elif pointer and not field["nullable"]:
                first += [field] + ([lengths[field["name"]]] if field["name"] in lengths else [])
            elif pointer:
                optional.append((field, "nullptr"))
            elif "one_of" in field:
                kinds.append(field)
            elif field["type"] in ("double", "float") and "efault" not in field["doc"]:
                numbers.append(field)
            elif "at least 1" in field["doc"] and "efault" not in field["doc"]:
                numbers.append(field)
            else:
                default = re.search(r"Default: (-?\d+)\b", field["doc"])
                optional.append((field, default[1] if default else "0"))
        if not numbers:
            optional = [(field, self.zero.get(field["one_of"], "0")) for field in kinds] + optional
            kinds = []
        return first + kinds + numbers, optional, left

    def field_doc(self, desc, field, default):
        """The text of a field; where several operations share the descriptor, what each of them does with a buffer."""
        text = field["doc"] if default else re.sub(r"\s*Default: [^.]*\.", "", field["doc"])
        if "access" not in field:
            return text
        sharing = [operation for operation in self.api["operations"] if operation["desc"] == desc]
        if len(sharing) > 1:
            uses = []
            for operation in sharing:
                own = next(other for other in operation["fields"] if other["name"] == field["name"])
                verb = {"read": "reads", "written": "writes", "updated": "reads and writes"}[own["access"]]
                uses.append(f"{operation['name']} {verb} {shape_words(own['shape']) or 'it'}" +
                            (" where one is given" if own["nullable"] else ""))
            return f"A buffer: {listed(uses)}."
        shape = shape_words(field["shape"])
        return text + (f" Shape: {shape}." if shape and "[" not in text else "")

    def descriptor(self, desc):
        struct = self.structs[desc]
        fields = [field for field in struct["fields"] if field["name"] not in ("struct_size", "reserved")]
        needed, optional, left = self.sort(fields)
        spelled, docs, body = [], [], []
        for field, default in [(field, None) for field in needed] + optional:
            kind = NAMED.get(field["name"], cpp_type(field["type"]))
            value = f"{kind}{{{default}}}" if field["name"] in NAMED else default
            spelled.append(f"{kind} {field['name']}" + (f" = {value}" if default else ""))
            docs.append((field["name"], self.field_doc(desc, field, default)))
            body.append(f"  desc.{field['name']} = {field['name']}{'.count' if field['name'] in NAMED else ''};")
        rest = [f"`{field['name']}`" for field in left]
        answer = "@return The descriptor" + (f"; {listed(rest)} may be set in it." if rest else ".")
        head = f"constexpr {desc} {self.helper(desc)}"
        return comment([f"Fills in a ::{desc}.", struct["doc"],
                        parameters_doc(docs) + [(answer, "")]], "") + \
            signature(head, spelled, " noexcept {", "") + \
            [f"  auto desc = detail::empty<{desc}>();"] + body + ["  return desc;", "}"]

    def descriptors(self):
        seen = []
        for operation in self.api["operations"]:
            if operation["desc"] not in seen and self.helper(operation["desc"]) not in BY_HAND:
                seen.append(operation["desc"])
        return [self.descriptor(desc) for desc in seen]

    # ---- Calls ------------------------------------------------------------------------------------------------------

    def call(self, operation, function, head, first, arguments, docs, stream, indent):
        """A function that fills in the size and calls a function of the C ABI."""
        desc, doc = operation["desc"], self.functions[function]["doc"]
        parameters = first + [f"const {desc}& desc"] + (["synfire_stream stream = nullptr"] if stream else [])
        arguments = arguments + ["&sized"] + (["stream"] if stream else [])
        docs = docs + [("desc", f"What to do; {self.helper(desc)}() helps.")] + \
            ([("stream", "The CUDA stream; null is the context's own.")] if stream else [])
        docs = parameters_doc(docs) + [("@throws error", "")]
        return comment([doc, f"Calls {function}(). {accesses(operation)}", docs], indent) + \
            signature(head, parameters, " {", indent) + \
            [f"{indent}  const {desc} sized = detail::sized(desc);",
             f"{indent}  check({function}({', '.join(arguments)}));", f"{indent}}}"]

    def layer(self):
        return [self.call(operation, operation["run"], f"void {operation['name']}", [], ["handle_"], [], True, "  ")
                for operation in self.api["operations"] if operation["on"] == "layer"]

    def context(self):
        return [self.call(operation, operation["run"], f"inline void {operation['name']}", ["const Context& context"],
                          ["context"], [("context", "The context of the buffers.")], True, "")
                for operation in self.api["operations"] if operation["on"] == "context"]

    def graph(self):
        return [self.call(operation, operation["record"], f"void record_{operation['name']}",
                          ["const Layer& layer"] if operation["layer"] else [],
                          ["handle_"] + (["layer"] if operation["layer"] else []),
                          [("layer", "A layer of the same context.")] if operation["layer"] else [], False, "  ")
                for operation in self.api["operations"] if f"record_{operation['name']}" not in BY_HAND]

    def rewrite(self, text):
        for block in ("descriptors", "layer", "context", "graph"):
            mark = "// ---- generated from synfire.h by bindings/cpp/generate.py: {} " + block + r"\n"
            pattern = re.compile("(" + mark.format("begin") + r")(?:.*?)([ ]*" + mark.format("end") + ")", re.S)
            functions = "\n".join("\n".join(lines) + "\n" for lines in getattr(self, block)())
            text, count = pattern.subn(lambda match: f"{match[1]}\n{functions}\n{match[2]}", text)
            if count != 1:
                fail(f"the block '{block}' is there {count} times")
        return text


def main():
    arguments = [pathlib.Path(argument) for argument in sys.argv[1:] if argument != "--check"]
    description = arguments[0] if arguments else ROOT / "bindings/api/synfire.json"
    header = arguments[1] if len(arguments) > 1 else ROOT / "include/synfire/synfire.hpp"
    recorded = header.read_text(encoding="utf-8")
    fresh = Generator(json.loads(description.read_text(encoding="utf-8"))).rewrite(recorded)
    if "--check" not in sys.argv:
        header.write_text(fresh, encoding="utf-8")
    elif recorded != fresh:
        sys.stdout.writelines(difflib.unified_diff(recorded.splitlines(True), fresh.splitlines(True), str(header),
                                                   "what the description says"))
        fail(f"{header} is stale: bindings/update.sh rewrites it")


if __name__ == "__main__":
    main()
