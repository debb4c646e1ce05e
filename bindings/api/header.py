"""Reads synfire.h: what it declares, with the marks as they are written. model.py has what the declarations mean together.

The header is plain enough that the standard library suffices. Sizes and offsets follow from the rules of every 64-bit
platform (natural alignment); tests/abi compares them with what the compiler says. Types are C's, with single spaces and
without the marks.

SPDX-License-Identifier: MIT
"""
import copy
import os
import re
import sys

SIZES = {"char": 1, "int8_t": 1, "uint8_t": 1, "int16_t": 2, "uint16_t": 2, "int32_t": 4, "uint32_t": 4, "int64_t": 8,
         "uint64_t": 8, "float": 4, "double": 8}
DOC = re.compile(r"/\*\*(.*?)\*/", re.S)
MARK = re.compile(r'SYNFIRE_(?:(READ|WRITTEN|UPDATED)\("([^"]*)"\)|(ONE_OF|ANY_OF|LENGTH_OF|WITH|UNLESS)\((\w+)\)'
                  r"|(FLAG|NULLABLE|REQUIRED|OPTIONAL_NAN|OPTIONAL)\b)")
FIELD_MARKS = re.compile(r"SYNFIRE_FIELD\((\w+), ((?:[^()]|\([^()]*\))*)\)")


def fail(message):
    sys.exit(f"synfire.h: {message}")


class Item:
    """Something that the header declares; its attributes are what is known of it."""

    def __init__(self, **attributes):
        self.__dict__.update(attributes)

    def extended(self, **attributes):
        """The same, with more known of it."""
        other = copy.copy(self)
        other.__dict__.update(attributes)
        return other

    def __repr__(self):
        return f"{type(self).__name__}({self.name})"


class Handle(Item):
    """name, struct (the incomplete structure), doc."""


class Alias(Item):
    """Another name of an integer type: name, type, doc."""


class Callback(Item):
    """A pointer to a function: name, returns, parameters, doc."""


class Constant(Item):
    """An enumerator: name, value, type, group, doc. Those of one `enum { }` share a group, the common prefix."""


class Struct(Item):
    """name, size, doc, fields (with offset and size)."""


class Function(Item):
    """name, returns, parameters, group (of the documentation), since, doc, errors (the names of those that `@return` states,
    also as those of another function)."""


class Field(Item):
    """A field of a structure or a parameter of a function: name, type, array (the length; 0: none), nullable, doc, and
    `marks`, each of which is an attribute too, None where the mark is not there:

    access        "read", "written" or "updated", of a buffer, and shape, its text
    given_with    the field with which it is given; given_unless: the field without which it is. Both are nullable.
    required      True: a number that has no default
    optional      True: a number of a function that may be left out, as all after it that the caller gives: it is then 0
    optional_nan  the same for a number that is then NaN
    one_of        the group of constants that the field takes one of; any_of: that it takes a sum of
    flag          True: 0 or 1
    length_of     the name of the field whose entries are counted
    """

    role = None
    own_marks = None  # SYNFIRE_FIELD: the marks that fields of a descriptor have in this function
    MARKS = {"access": "access", "shape": "shape", "with": "given_with", "unless": "given_unless", "required": "required",
             "optional": "optional", "optional_nan": "optional_nan", "one_of": "one_of", "any_of": "any_of",
             "flag": "flag", "length_of": "length_of"}

    def __init__(self, name, type, array=0, nullable=False, doc="", marks=None, **more):
        super().__init__(name=name, type=type, array=array, nullable=nullable, doc=doc, **more)
        self.mark(marks or {})

    def mark(self, marks):
        self.marks = marks
        for mark, attribute in self.MARKS.items():
            setattr(self, attribute, marks.get(mark))

    def marked(self, marks, nullable):
        """The same field where a function gives it marks of its own."""
        other = self.extended(nullable=nullable)
        other.mark({**self.marks, **marks})
        return other


def plain(comment):
    """The text of a documentation comment, without its decoration."""
    lines = [re.sub(r"^\s*\*? ?", "", line).rstrip() for line in comment.strip().splitlines()]
    return "\n".join(lines).strip()


def brief(text):
    """The text before the first command or empty line, as one line."""
    head = re.split(r"\n\s*\n|\n@", "\n" + text.strip())[0] if not text.startswith("@") else ""
    # Text that ends with a colon announces a list, which is left to the header.
    return re.sub(r"\. [^.]*:$", ".", " ".join(head.split()))


def take_marks(text):
    """`synfire_buffer x SYNFIRE_READ("[B]")` -> `synfire_buffer x`, {"access": "read", "shape": "[B]"}, nullable."""
    marks, nullable = {}, False
    for match in MARK.finditer(text):
        access, shape, of, name, plain_mark = match.groups()
        if access:
            marks.update(access=access.lower(), shape=shape)
        elif of == "LENGTH_OF":
            marks["length_of"] = name
        elif of in ("WITH", "UNLESS"):
            marks[of.lower()] = name
            nullable = True
        elif of:
            marks[of.lower()] = name[len("SYNFIRE_"):].lower()
        elif plain_mark == "NULLABLE":
            nullable = True
        else:
            marks[plain_mark.lower()] = True
    return MARK.sub(" ", text), marks, nullable


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
    """`const char *name SYNFIRE_NULLABLE` -> a field."""
    bare, marks, nullable = take_marks(text)
    match = re.fullmatch(r"(.*?)(\w+)\s*(?:\[(\d+)\])?", bare.strip(), re.S)
    if not match or not match[1].strip():
        fail(f"cannot read the declaration '{text}'")
    return Field(match[2], clean_type(match[1]), int(match[3] or 0), nullable, marks=marks)


def parameters(text):
    text = text.strip()
    if text in ("", "void"):
        return []
    read = []
    for part in split_parameters(text):
        own = {match[1]: take_marks(match[2])[1:] for match in FIELD_MARKS.finditer(part)}
        parameter = declarator(FIELD_MARKS.sub(" ", part))
        if parameter.array:
            fail(f"an array as a parameter: '{part}'")
        parameter.own_marks = own or None
        read.append(parameter)
    return read


class Header:
    """The declarations of a header's text, in its order."""

    def __init__(self, text):
        text = re.sub(r"/\*\* @cond PLATFORM \*/.*?/\*\* @endcond \*/", "", text, flags=re.S)
        text = text.replace("\\\n", " ")
        self.group = ""
        self.handles, self.aliases, self.callbacks, self.constants, self.structs, self.functions = [], [], [], [], [], []
        self.version = {}
        for name in ("MAJOR", "MINOR"):
            match = re.search(rf"#define SYNFIRE_ABI_{name} (\d+)", text)
            if not match:
                fail(f"no SYNFIRE_ABI_{name}")
            self.version[name.lower()] = int(match[1])
        text = re.sub(r"^[ \t]*#.*$", "", text, flags=re.M)
        self.sizes = dict(SIZES)
        self.read(text)
        # Nothing that the header exports may have been overlooked.
        found = {function.name for function in self.functions}
        for name in re.findall(r"\b(synfire_\w+)\((?!SYNFIRE_CALL)", re.sub(r"/\*.*?\*/", "", text, flags=re.S)):
            if name not in found:
                fail(f"{name} was not found")

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
            self.handles.append(Handle(name=match[2], struct=match[1], doc=brief(doc)))
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
            self.callbacks.append(Callback(name=match[2], returns=clean_type(match[1]), parameters=parameters(match[3]),
                                           doc=brief(doc)))
            self.sizes[match[2]] = 8
            return match.end()
        match = re.compile(r"typedef (\w+) (\w+)\s*;").match(text, at)
        if match:
            self.aliases.append(Alias(name=match[2], type=match[1], doc=brief(doc)))
            self.sizes[match[2]] = self.sizes[match[1]]
            return match.end()
        match = re.compile(r"SYNFIRE_API\s+([^();]*?)\(([^;]*)\)\s*SYNFIRE_NOEXCEPT\s*;", re.S).match(text, at)
        if match:
            self.function(match[1], match[2], doc)
            return match.end()
        return fail(f"cannot read '{text[at:at + 60]}'")

    def function(self, head, text, doc):
        named = declarator(re.sub(r"\bSYNFIRE_CALL\b", " ", head))
        since = re.search(r"@since ABI ([\d.]+)", doc)
        if not since:
            fail(f"{named.name} does not say since when")
        read, docs = parameters(text), parameter_docs(doc)
        for parameter in read:
            parameter.doc = docs.get(parameter.name, "")
        self.functions.append(Function(name=named.name, returns=named.type, parameters=read, group=self.group,
                                       since=since[1], doc=brief(doc), errors=self.errors(doc)))

    def errors(self, doc):
        """The errors of a function's `@return`; `As synfire_x()` has those of a function before."""
        stated = re.search(r"@return\b(.*?)(?=\n@|\n\s*\n|\Z)", doc, re.S)
        text = stated[1] if stated else ""
        found = re.findall(r"::(SYNFIRE_ERROR_\w+)", text)
        for other in re.findall(r"\b[Aa]s (?:of )?(synfire_\w+)\(\)", text):
            found += next((function.errors for function in self.functions if function.name == other), [])
        return list(dict.fromkeys(found))

    def fields(self, body):
        doc, at = "", 0
        for match in re.finditer(r"/\*\*(.*?)\*/|([^;/]+);", body, re.S):
            if body[at:match.start()].strip():
                fail(f"cannot read the field '{body[at:match.start()].strip()}'")
            at = match.end()
            if match[2] is None:
                doc = plain(match[1])
            else:
                yield declarator(match[2].strip()).extended(doc=" ".join(doc.split()))
                doc = ""

    def struct(self, name, body, doc):
        offset, alignment, fields = 0, 1, []
        for field in self.fields(body):
            size = 8 if field.type.endswith("*") else self.sizes.get(field.type)
            if size is None:
                fail(f"{name}.{field.name} has the unknown type '{field.type}'")
            offset = -(-offset // size) * size
            alignment = max(alignment, size)
            fields.append(field.extended(offset=offset, size=size * max(field.array, 1)))
            offset += fields[-1].size
        size = -(-offset // alignment) * alignment
        self.structs.append(Struct(name=name, size=size, doc=brief(doc), fields=fields))

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
            self.constants.append(Constant(name=name, value=value, type="int32_t", group=group, doc=text))
