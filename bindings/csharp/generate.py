#!/usr/bin/env python3
"""Writes what is mechanical in the C# binding from the model of the C ABI (bindings/api/model.py):
generate.py [--check] [HEADER [FOLDER]]

Without --check these files are rewritten in FOLDER, which is src; with it, a stale one is an error, with the difference
shown.
    Native.g.cs      every type, constant and function of synfire.h
    Constants.g.cs   its constants as enumerations
    Operations.g.cs  for each operation a class of arguments, the method that records it, and the one that runs it now
    Objects.g.cs     the objects and methods that are not in OBJECTS_BY_HAND and METHODS_BY_HAND; no file where all are

The classes of arguments, and those of the options that create an object, follow from the marks in the header. A field
becomes one property:
    an object                    its class (BufferBase for a buffer); null is refused where the C library takes none,
                                 also where that depends on whether another field is given
    `one_of`, `any_of`           the enumeration of Constants.g.cs
    `flag`                       bool
    const char *                 string
    a list, and its `length_of`  IList, or IDictionary where the entries are a name and a buffer
    any other number             the same type; the prefix n_ is dropped
A method has the parameters of its function; what the function gives is returned, as a tuple where there are several:
    numbers, objects, text       as those of fields; a CUDA stream is an IntPtr
    a list, and its length       ReadOnlySpan, or Span where the function fills it in; IList of objects; IDictionary
    a structure that it fills in a class with a property for each field
    a text that it gives         string: the function is asked for its size first
    the path of a file           a string of any length; names are short
    an object that it gives      its class, on the context of the one that is asked; Buffer<T> with T stated
    steps beside neurons         NamedLength, and an overload that asks for the names
get_x() that gives one thing and takes none is the property X. A method of a class in CHAINED that gives nothing
returns its object.

What fits none of these rules stops the generator. Operations with a callback are written by hand (Nodes.cs).

SPDX-License-Identifier: MIT
"""
import difflib
import pathlib
import re
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "api"))
import model  # noqa: E402

WIDTH = 120

SCALARS = {"int8_t": "sbyte", "uint8_t": "byte", "int16_t": "short", "uint16_t": "ushort", "int32_t": "int",
           "uint32_t": "uint", "int64_t": "long", "uint64_t": "ulong", "float": "float", "double": "double",
           "char": "byte", "void": "void"}

# The enumerations of the idiomatic layer whose names are not those of the group.
ENUMERATIONS = {"array": "ArrayRole", "memory": "MemoryKind", "dtype": "DType", "fallback": "FallbackReason",
                "count": "CountKind", "loss": "LossKind", "wait": "WaitPolicy"}

SUMMARIES = {"Status": "Result of a call: 0 success, positive success with a note, negative error."}

RESERVED = {"base", "bool", "break", "case", "char", "checked", "class", "const", "continue", "default", "delegate", "do",
            "event", "explicit", "extern", "false", "finally", "fixed", "for", "goto", "if", "implicit", "in", "internal",
            "is", "lock", "long", "namespace", "new", "null", "object", "operator", "out", "override", "params",
            "private", "protected", "public", "readonly", "ref", "return", "sealed", "short", "static", "string",
            "struct", "switch", "this", "throw", "true", "try", "typeof", "unsafe", "using", "virtual", "void", "while"}


def identifier(name):
    """A name of C as a name of C#, where some are reserved."""
    return "@" + name if name in RESERVED else name


def pascal(name):
    return "".join(part[:1].upper() + part[1:].lower() for part in name.split("_"))


def enumeration(group):
    return ENUMERATIONS.get(group, pascal(group))


def plain(text):
    """Documentation as XML: formulas as they are written, code in <c>."""
    text = text.replace("\\f$", "").replace("::SYNFIRE", "SYNFIRE").replace("::synfire", "synfire").replace("::", ".")
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"`([^`]*)`", r"<c>\1</c>", text)


def comment(tag, text, indent):
    """XML documentation; neither a tag inside the text nor code is broken."""
    name = tag.split()[0]
    text = re.sub(r"<c>[^<]*</c>|<[^>]*>", lambda match: match[0].replace(" ", "\0"), " ".join(text.split()))
    lines = [line.replace("\0", " ") for line in
             textwrap.wrap(text, 110 - len(indent), break_long_words=False, break_on_hyphens=False)]
    if len(lines) == 1 and len(lines[0]) + len(indent) + len(tag) + len(name) + 9 <= WIDTH:
        return f"{indent}/// <{tag}>{lines[0]}</{name}>\n"
    return "".join(f"{indent}/// {line}\n" for line in [f"<{tag}>", *lines, f"</{name}>"])


def summary(text, indent):
    return comment("summary", plain(text), indent)


class Types:
    def __init__(self, api):
        self.known = dict(SCALARS)
        self.known.update({item.name: item.name for item in (*api.handles, *api.structs)})
        # A function pointer has no type of its own in C# 7: whoever passes one makes it from a static method.
        self.known.update({callback.name: "IntPtr" for callback in api.callbacks})
        self.known.update({alias.name: SCALARS[alias.type] for alias in api.aliases})

    def csharp(self, c):
        c = c.replace("const ", "").strip()
        if c.endswith("*"):
            return self.csharp(c[:-1]) + "*"
        return self.known[c]


def banner(name, what):
    return (f"// {name} - {what}\n//\n"
            "// Generated by bindings/csharp/generate.py from include/synfire/synfire.h; do not edit.\n//\n"
            "// SPDX-License-Identifier: MIT\n")


def native(api):
    types = Types(api)
    library = f"synfire{api.version['major']}"
    out = [banner("Native.g.cs", "every type, constant and function of synfire.h, under its own name."),
           "using System;\nusing System.Runtime.InteropServices;\n\nnamespace Synfire.Raw\n{\n"]
    for handle in api.handles:
        name = handle.name
        out.append(summary(handle.doc or name, "    ") +
                   "    [StructLayout(LayoutKind.Sequential)]\n"
                   f"    public readonly struct {name} : IEquatable<{name}>\n    {{\n"
                   "        /// <summary>The handle as a number; zero is null.</summary>\n"
                   "        public readonly IntPtr Value;\n\n"
                   "        /// <summary>A handle from its number.</summary>\n"
                   f"        public {name}(IntPtr value) {{ Value = value; }}\n\n"
                   "        /// <summary>True if both are the same handle.</summary>\n"
                   f"        public bool Equals({name} other) {{ return Value == other.Value; }}\n\n"
                   "        /// <summary>True if both are the same handle.</summary>\n"
                   f"        public override bool Equals(object other) {{ return other is {name} && Equals(({name})other); }}\n\n"
                   "        /// <summary>A number for hash tables.</summary>\n"
                   "        public override int GetHashCode() { return Value.GetHashCode(); }\n    }\n\n")
    for struct in api.structs:
        name = struct.name
        out.append(summary(struct.doc, "    ") + "    [StructLayout(LayoutKind.Sequential)]\n"
                   f"    public unsafe struct {name}\n    {{\n")
        for field in struct.fields:
            kind = types.csharp(field.type)
            member = identifier(field.name)
            out.append(summary(field.doc, "        ") + (f"        public fixed {kind} {member}[{field.array}];\n"
                       if field.array else f"        public {kind} {member};\n"))
        if struct.is_sized:
            out.append("\n        /// <summary>All zeros plus the size.</summary>\n"
                       f"        public static {name} Init\n        {{\n            get\n            {{\n"
                       f"                {name} made = default({name});\n"
                       f"                made.struct_size = (uint)sizeof({name});\n"
                       "                return made;\n            }\n        }\n")
        out.append("    }\n\n")
    out.append("    /// <summary>The functions and constants of synfire.h: nothing is checked and nothing is kept alive here.</summary>\n"
               "    public static unsafe class Native\n    {\n"
               "        /// <summary>The name of the library that the runtime loads.</summary>\n"
               f"        public const string LibraryName = \"{library}\";\n\n")
    for part in ("major", "minor"):
        out.append(f"        /// <summary>ABI {part} version that this binding was made for.</summary>\n"
                   f"        public const uint SYNFIRE_ABI_{part.upper()} = {api.version[part]};\n\n")
    out.append("        /// <summary>Major and minor in one number.</summary>\n"
               "        public const uint SYNFIRE_ABI_VERSION = (SYNFIRE_ABI_MAJOR << 16) | SYNFIRE_ABI_MINOR;\n\n")
    for constant in api.constants:
        out.append(summary(constant.doc, "        ") +
                   f"        public const {SCALARS[constant.type]} {constant.name} = {constant.value};\n\n")
    functions = []
    for function in api.functions:
        parameters = ", ".join(f"{types.csharp(p.type)} {identifier(p.name)}" for p in function.parameters)
        head = f"        public static extern {types.csharp(function.returns)} {function.name}("
        line = f"{head}{parameters});"
        if len(line) > 120:
            line = head + "\n" + "\n".join(textwrap.wrap(parameters + ");", 104, initial_indent=" " * 12,
                                                         subsequent_indent=" " * 12))
        functions.append(summary(function.doc, "        ") +
                         "        [DllImport(LibraryName, CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]\n" +
                         line + "\n")
    out.append("\n".join(functions) + "    }\n}\n")
    return "".join(out)


def constants(api):
    out = [banner("Constants.g.cs", "the constants of synfire.h as enumerations."), "namespace Synfire\n{\n"]
    parts = []
    for group in api.groups.values():
        name = enumeration(group.name)
        text = summary(SUMMARIES.get(name, f"The constants `{group.prefix}*` of the C library."), "    ")
        text += ("    [System.Flags]\n" if group.is_sum else "") + f"    public enum {name}\n    {{\n"
        text += ",\n\n".join(summary(member.doc, "        ") + f"        {pascal(member.symbol)} = {member.value}"
                             for member in group.constants)
        parts.append(text + "\n    }\n")
    return "".join(out) + "\n".join(parts) + "}\n"


# ---- Operations ------------------------------------------------------------------------------------------------------

# The classes written by hand, by the names of the objects. Call.cs takes buffers and layers.
CLASSES = {"context": "Context", "buffer": "BufferBase", "layer": "Layer", "graph": "Graph"}
IN_CALL = {"BufferBase", "Layer"}
OBJECTS_BY_HAND = {"buffer", "layer", "graph"}

# The functions of objects that classes written by hand wrap, and the structures that they answer with.
METHODS_BY_HAND = {
    "synfire_context_reclaim", "synfire_context_synchronize", "synfire_context_get_properties", "synfire_buffer_fill",
    "synfire_buffer_get_desc", "synfire_buffer_mark_written", "synfire_layer_get_desc", "synfire_layer_set_parameter", "synfire_layer_get_parameter",
    "synfire_layer_set_parameters", "synfire_layer_set_n_active", "synfire_layer_get_parameter_info",
    "synfire_layer_reset_state", "synfire_graph_get_last_operation", "synfire_graph_instantiate",
    "synfire_graph_set_enabled", "synfire_graph_rebind", "synfire_graph_set_value", "synfire_graph_launch",
    "synfire_graph_wait", "synfire_graph_poll", "synfire_graph_get_statistics", "synfire_graph_reset_statistics",
    "synfire_network_evaluate_stages", "synfire_network_infer_arrays", "synfire_network_load_arrays",
    "synfire_network_set_arrays", "synfire_network_train_stages"}
ANSWERS_BY_HAND = {"synfire_context_properties", "synfire_layer_memory", "synfire_parameter_info",
                   "synfire_graph_statistics"}

# Classes that are put together call by call.
CHAINED = {"Network"}

# Fields that the marks describe too little: the property's type, the value of the field, the documentation.
SPECIAL = {
    "synfire_backward_desc.forward": (
        "int?", "Forward.HasValue ? unchecked((uint)Forward.Value + 1) : 0",
        'In a graph: the number of the operation whose tape it reads, a forward of the layer in the same graph '
        '(<see cref="Graph.LastOperation"/>). Null (default): the newest in the graph, or, where it has none, the forward '
        'that was recorded or run last. A backward that runs now takes null only.')}


def answer_class(struct):
    return pascal(struct[len("synfire_"):])


def property_name(field):
    """`v_init` -> VInit, `n_steps` -> Steps."""
    return pascal(re.sub(r"^n_", "", field.name))


def camel(name):
    return identifier(name[:1].lower() + name[1:])


def blocks(parts):
    return "\n".join(part for part in parts if part)


def wrapped(head, parts, tail, indent):
    """`head(a, b)tail`, broken between the parts where it is too long for a line."""
    lines, align = [indent + head], len(indent + head)
    if align > 80:
        align = len(indent) + 4
        lines.append(" " * align)
    for i, part in enumerate(parts):
        text = part + (tail if i + 1 == len(parts) else ",")
        if lines[-1].strip() and len(lines[-1]) + len(text) + 1 > WIDTH and i > 0:
            lines.append(" " * align)
        space = "" if lines[-1].endswith("(") or not lines[-1].strip() else " "
        lines[-1] += space + text
    return "\n".join(lines) + ("" if parts else tail) + "\n"


def indented(lines, indent):
    return "".join(f"{indent}{line}\n" for line in lines)


def stop(where, what):
    sys.exit(f"generate.py: {where}: {what}")


class Operations:
    """Operations.g.cs: arguments, Graph.X, and X of the context or object that runs it."""

    def __init__(self, api):
        self.api = api
        # `class_name` is that of the fields: of an operation's arguments, and of an object's options.
        self.operations = [operation.extended(class_name=pascal(operation.name) + "Arguments")
                           for operation in api.operations if not operation.has_callback]
        self.constants = {}
        for constant in api.constants:
            self.constants[constant.name] = (enumeration(constant.group), pascal(constant.symbol))
        self.objects = [made.extended(class_name=pascal(made.name) + "Options") for made in api.objects
                        if made.name not in OBJECTS_BY_HAND]
        self.makers = [maker.extended(class_name=pascal(maker.name) + "Options", destroy=None) for maker in api.makers]
        self.methods = [method for method in api.methods if method.function not in METHODS_BY_HAND]
        self.classes = {**CLASSES, **{made.name: pascal(made.name) for made in self.objects}}
        self.taken = set()
        for method in self.methods:
            if method.object not in self.classes:
                stop(method.function, f"no class wraps synfire_{method.object}")

    def class_of(self, kind):
        """The class of a handle, or None."""
        return self.classes.get(kind[len("synfire_"):]) if kind.startswith("synfire_") else None

    def use(self, kind, value):
        """The handle of an object, held during the call."""
        self.taken.add(kind)
        return f"call.Use({value})"

    # ---- Documentation: what C calls something becomes a reference to what C# calls it

    def reference(self, word, operation, inside):
        """A name of C as a reference, or None; `inside` the class of arguments or not."""
        own = {field.name: field for field in operation.fields}
        name = word[len("desc."):] if word.startswith("desc.") else word
        if name in own:
            prop = property_name(own[name].counted or own[name])
            return prop if inside else f"{operation.class_name}.{prop}"
        group = re.fullmatch(r"SYNFIRE_(\w+)_\*", word)
        if group or word in self.constants:
            path = self.constants[word] if not group else (enumeration(group[1].lower()),)
            # A property of the same name hides the enumeration.
            hidden = inside and path[0] in map(property_name, operation.fields)
            return ".".join(("Synfire",) * hidden + path)
        for other in self.operations:
            arguments = other.class_name
            struct, _, field = word.partition("::")
            if struct == other.desc and sum(not each.has_callback for each in other.sharing) == 1:
                found = [each for each in other.fields if each.name == field]
                return f"{arguments}.{property_name(found[0])}" if found else arguments
            if word == other.record:
                return self.recorder(other)
            if word == other.run:
                return f"{self.classes[other.on]}.{pascal(other.method)}({arguments}, IntPtr)"
        for made in self.objects + self.makers:
            name, options = pascal(getattr(made, "object", made.name)), made.class_name
            struct, _, field = word.partition("::")
            if struct == made.desc:
                found = [each for each in made.fields if each.name == field]
                return f"{options}.{property_name(found[0])}" if found else options
            if word in (made.handle, made.create):
                return name
            if word == made.destroy:
                return "SynfireObject.Dispose"
        for method in self.methods:
            if word == method.function:
                return Method(self, method).path()
        return f"Native.{word}" if word in self.api.function else None

    def recorder(self, operation):
        """The method of Graph that records an operation, for a reference."""
        owner = self.classes[operation.object] + ", " if operation.object else ""
        return f"Graph.{pascal(operation.name)}({owner}{operation.class_name})"

    def words(self, text, operation, inside=False):
        text = text.replace("\\f$", "").replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

        def replace(match):
            word = match[1] or match[2]
            if match[1] in getattr(operation, "parameters", ()):
                return f'<paramref name="{operation.parameters[match[1]]}"/>'
            found = self.reference(word.rstrip("()"), operation, inside)
            return f'<see cref="{found}"/>' if found else f"<c>{match[1]}</c>" if match[1] else word.replace("::", ".")

        return re.sub(r"`([^`]*)`|(?:::)?\b((?:SYNFIRE|synfire)_\w+(?:::\w+)?)(?:\(\))?", replace, text)

    def field_text(self, field, operation):
        """The header's text, and what the marks of a buffer add to it."""
        text = re.sub(r"^As the function defines it\.\s*", "", field.doc)
        # "`n_reads` buffers": a list knows its length.
        counted = re.match(r"`(\w+)` ", text)
        if counted and any(length.name == counted[1] for length in operation.fields if length.role == "length"):
            text = text[counted.end()].upper() + text[counted.end() + 1:]
        if field.flag:
            text = re.sub(r"(^|(?<=\. ))1:", "`true`:", text)
            text = re.sub(r"\b0 \(default\)", "`false` (default)", text).replace("Default 0", "Default `false`")
        if field.access:
            access = {"read": "read", "written": "written", "updated": "read and written"}[field.access]
            if not re.search(rf"\b{access}\b", text, re.I):
                text = f"{text} {access.capitalize()}.".strip()
            shapes = re.findall(r"\[.*?\]", field.shape)
            if field.shape != "any" and (not shapes or not set(shapes) <= set(re.findall(r"\[.*?\]", text))):
                text += f" Its shape is {self.shape_text(field.shape, operation)}."
            depends = field.given_with or field.given_unless
            if field.nullable and not depends and not re.search(r"\b(optional|null)\b", text, re.I):
                text += " Optional."
        return self.words(text, operation, inside=True)

    def shape_text(self, shape, operation):
        """`[n_rows, N]`, `spikes [T, B, N]`, `that of source`: what the mark says, in words."""
        names = {field.name: property_name(field) for field in operation.fields}

        def lengths(match):
            return "`" + re.sub(r"\w+", lambda word: names.get(word[0], word[0]), match[0]) + "`"

        text = re.sub(r"\[.*?\]", lengths, shape.replace("spikes [", "["))
        text = re.sub(r"^that of (\w+)$", r"that of `\1`", text)
        return text + (", or that of the packed format" if shape.startswith("spikes ") else "")

    # ---- One field

    def number(self, field, name):
        """The type of a number in C#, and what C gets of it."""
        raw = SCALARS[field.type]
        group = field.one_of or field.any_of
        if field.flag:
            return "bool", f"{name} ? 1 : 0" if raw == "int" else f"({raw})({name} ? 1 : 0)"
        return (enumeration(group), f"({raw}){name}") if group else (raw, name)

    def answered(self, field, raw, value):
        """The type of a number that C gives, and its value."""
        group = field.one_of or field.any_of
        if field.flag:
            return "bool", f"{value} != 0"
        return (enumeration(group), f"({enumeration(group)}){value}") if group else (raw, value)

    def entry(self, struct):
        """The names of both fields, where an entry is a name and a buffer; else None."""
        fields = self.api.struct[struct].given if struct in self.api.struct else []
        kinds = {field.type: field.name for field in fields}
        named = set(kinds) == {"const char *", "synfire_buffer"} and len(fields) == 2
        return (kinds["const char *"], kinds["synfire_buffer"]) if named else None

    def start(self, struct):
        """A structure before its fields are filled in."""
        return f"{struct}.Init" if self.api.struct[struct].is_sized else f"default({struct})"

    def member(self, field, operation):
        """The property, and the lines that fill in the field."""
        name, prop = field.name, property_name(field)
        special = SPECIAL.get(f"{operation.desc}.{name}")
        given, kind = self.where_needed(field, prop), None
        text = special[2] if special else self.field_text(field, operation)
        if special:
            kind, value = special[:2]
        elif field.role == "list":
            return self.list_member(field, prop, text)
        elif self.class_of(field.type):
            kind, value = self.class_of(field.type), self.use(field.type, given)
        elif field.role == "text":
            kind, value = "string", f"call.Text({given})"
        elif field.type in SCALARS and not field.array:
            kind, value = self.number(field, prop)
        if kind is None:
            stop(f"{operation.desc}.{name}", f"no rule makes a property of '{field.type}'")
        return (comment("summary", text, " " * 8) + f"        public {kind} {prop} {{ get; set; }}\n",
                [f"desc.{identifier(name)} = {value};"])

    @staticmethod
    def where_needed(field, prop):
        """A property that may be null only where the field may be."""
        given = f'Errors.Given({prop}, "{prop}")'
        if field.other:
            other = property_name(field.other)
            return f"{other} == null ? {prop if field.given_with else given} : {given if field.given_with else prop}"
        return prop if field.nullable else given

    def list_member(self, field, prop, text):
        kind, length, name = field.target, field.length, identifier(field.name)
        count = identifier(length.name)
        self.taken.add(kind)
        counted = f"desc.{count} = ({SCALARS[length.type]}){prop}.Count;"
        entry = self.entry(kind)
        if entry:
            named, buffer = entry
            made = "IDictionary<string, BufferBase>", "Dictionary<string, BufferBase>"
            lines = [f"{kind}* {camel(prop)} =", f"    ({kind}*)call.Memory({prop}.Count, sizeof({kind}));",
                     f"foreach (KeyValuePair<string, BufferBase> entry in {prop})", "{",
                     f"    {kind}* at = {camel(prop)} + desc.{count}++;",
                     f"    *at = {self.start(kind)};",
                     f"    at->{identifier(named)} = call.Text(entry.Key);",
                     f'    at->{identifier(buffer)} = call.Use(Errors.Given(entry.Value, "{prop}"));', "}",
                     f"desc.{name} = {camel(prop)};"]
        elif kind == "synfire_buffer":
            made = "IList<BufferBase>", "List<BufferBase>"
            lines = [counted, f'desc.{name} = call.Use({prop}, "{prop}");']
        elif kind in SCALARS and kind not in ("char", "void"):
            raw = SCALARS[kind]
            made = f"IList<{raw}>", f"List<{raw}>"
            lines = [counted, f"desc.{name} = ({raw}*)call.Numbers({prop});"]
        else:
            sys.exit(f"generate.py: {field.name}: no rule makes a list of '{kind}'")
        return (comment("summary", text, " " * 8) +
                f"        public {made[0]} {prop} {{ get; }} = new {made[1]}();\n", lines)

    # ---- One operation

    def arguments(self, operation):
        name = operation.class_name
        text = f'Arguments of <see cref="{self.recorder(operation)}"/>'
        if operation.run:
            owner = self.classes[operation.on]
            text += f' and <see cref="{owner}.{pascal(operation.method)}({name}, IntPtr)"/>'
        return self.properties(operation, text + ".")

    def properties(self, operation, text):
        """The class of the fields of a descriptor, with what fills the descriptor in."""
        name, desc = operation.class_name, operation.desc
        fields = [field for field in operation.fields if field.role != "length"]
        if len(set(map(property_name, fields))) < len(fields):
            stop(desc, "two fields become the same property")
        members = [self.member(field, operation) for field in fields]
        pointers = any(field.type.endswith("*") for field in operation.fields)
        return (comment("summary", text, "    ") +
                f"    public sealed class {name}\n    {{\n" +
                "\n".join(member for member, _ in members) +
                f"\n        internal {'unsafe ' if pointers else ''}{desc} Desc(Call call)\n        {{\n"
                f"            {desc} desc = {desc}.Init;\n" +
                "".join(f"            {line}\n" for _, lines in members for line in lines) +
                "            return desc;\n        }\n    }\n")

    def record(self, operation):
        name, arguments = pascal(operation.name), operation.class_name
        kind = self.classes[operation.object] if operation.object else ""
        owner = camel(pascal(operation.object)) if kind else ""
        raw = f"Raw, {owner}.Raw, &desc" if kind else "Raw, &desc"
        text = f"The {operation.object.replace('_', ' ')}." if kind else ""
        return (comment("summary", self.words(operation.doc, operation), " " * 8) +
                (comment(f'param name="{owner}"', text, " " * 8) if kind else "") +
                comment('param name="arguments"', "The arguments of the operation.", " " * 8) +
                comment("returns", "This graph.", " " * 8) +
                f"        public Graph {name}({kind + ' ' + owner + ', ' if kind else ''}{arguments} arguments)\n"
                "        {\n"
                '            Errors.Given(arguments, "arguments");\n'
                "            using (Call call = new Call(this))\n            {\n" +
                (f"                {self.given(f'synfire_' + operation.object, owner)};\n" if kind else "") +
                f"                {operation.desc} desc = arguments.Desc(call);\n"
                f"                Errors.Check(Native.{operation.record}({raw}));\n"
                "                Keep(call.Used);\n            }\n            return this;\n        }\n")

    def run(self, operation):
        name, arguments = pascal(operation.method), operation.class_name
        return (comment("summary", self.words(self.api.function[operation.run].doc, operation), " " * 8) +
                comment('param name="arguments"', "The arguments of the operation.", " " * 8) +
                comment('param name="stream"', "A CUDA stream; zero is the context's own.", " " * 8) +
                f"        public void {name}({arguments} arguments, IntPtr stream = default(IntPtr))\n"
                "        {\n"
                '            Errors.Given(arguments, "arguments");\n'
                "            using (Call call = new Call(this))\n            {\n"
                f"                {operation.desc} desc = arguments.Desc(call);\n"
                f"                Errors.Check(Native.{operation.run}(Raw, &desc, new synfire_stream(stream)));\n"
                "            }\n        }\n")

    def given(self, kind, name):
        """An object that must not be null."""
        return self.use(kind, f'Errors.Given({name}, "{name}")')

    def owner(self, name, methods):
        if not methods:
            return ""
        modifier = "abstract" if name == "BufferBase" else "sealed"
        return f"    public {modifier} unsafe partial class {name}\n    {{\n" + "\n".join(methods) + "    }\n"

    def text(self):
        run = [operation for operation in self.operations if operation.run]
        parts = [self.arguments(operation) for operation in self.operations]
        parts.append(self.owner("Graph", [self.record(operation) for operation in self.operations]))
        for on, name in self.classes.items():
            parts.append(self.owner(name, [self.run(operation) for operation in run if operation.on == on]))
        return (banner("Operations.g.cs", "every operation: its arguments, recorded or run now.") +
                "using System;\nusing System.Collections.Generic;\nusing Synfire.Raw;\n\nnamespace Synfire\n{\n" +
                blocks(parts) + "}\n")


# ---- Objects and methods ---------------------------------------------------------------------------------------------

class Method:
    """A method or property that calls one function of an object."""

    def __init__(self, operations, method):
        self.operations, self.method = operations, method
        self.owner = operations.classes[method.object]
        self.names = {p.name: camel(property_name(p)) for p in method.parameters}
        given = ("length", "result", "answer", "string", "capacity", "size", "part")
        self.inputs = [p for p in method.parameters if p.role not in given]
        self.outputs = [p for p in method.parameters if p.role in ("result", "answer", "string", "part")]
        self.is_generic = any(p.type == "synfire_buffer *" for p in self.outputs)
        if len({self.names[p.name] for p in self.inputs + self.outputs}) < len(self.inputs + self.outputs):
            self.stop("two parameters have the same name")
        self.is_property = method.name.startswith("get_") and not self.inputs and len(self.outputs) == 1
        self.name = pascal(method.name[len("get_"):] if self.is_property else method.name)
        named = [p.name for p in self.inputs if p.role == "number" and p.name in ("n_steps", "n_neurons")]
        self.named = set(named) if len(named) == 2 else set()
        # A graph's nodes are held by its handle, and other objects by theirs.
        self.has_call = self.owner == "Graph" or any(
            p.role == "object" or p.role == "text" and p.nullable or
            p.role == "list" and self.list_kind(p)[0] in ("objects", "entries") for p in self.inputs)

    def stop(self, what):
        stop(self.method.function, what)

    def list_kind(self, p):
        """How a list is given: which rule, and the type of one entry."""
        kind = p.target
        if kind in SCALARS and kind != "char":
            return "numbers", "byte" if kind == "void" else SCALARS[kind]
        if p.is_read and self.operations.class_of(kind):
            return "objects", self.operations.class_of(kind)
        if p.is_read and self.operations.entry(kind):
            return "entries", kind
        return self.stop(f"no rule makes a list of '{p.type}'")

    def kind(self, p):
        """The type of a parameter in C#."""
        if p.role == "number":
            return "NamedLength" if p.name in self.named else self.operations.number(p, "")[0]
        if p.role == "object":
            return self.operations.class_of(p.type) or self.stop(f"no class wraps {p.type}")
        if p.role == "list":
            rule, entry = self.list_kind(p)
            span = "ReadOnlySpan" if p.is_read else "Span"
            return {"numbers": f"{span}<{entry}>", "objects": f"IList<{entry}>",
                    "entries": "IDictionary<string, BufferBase>"}[rule]
        return {"stream": "IntPtr", "text": "string"}[p.role]

    def path(self):
        """Returns the name in references."""
        if self.is_property:
            return f"{self.owner}.{self.name}"
        kinds = ", ".join(self.kind(p).replace("<", "{").replace(">", "}") for p in self.inputs)
        return f"{self.owner}.{self.name}{'{T}' * self.is_generic}({kinds})"

    def signature(self):
        """The parameters; the last ones have defaults, as long as null is one."""
        parts, defaults = [], True
        for p in reversed(self.inputs):
            kind, name = self.kind(p), self.names[p.name]
            defaults = defaults and (p.role == "stream" or p.optional or p.optional_nan or
                                     p.nullable and (p.role in ("object", "text") or kind.startswith("I")))
            default = "default(IntPtr)" if p.role == "stream" else "null"
            if p.optional:
                default = "false" if kind == "bool" else "0"
            if p.optional_nan:
                default = "double.NaN"
            parts.insert(0, f"{kind} {name}" + (f" = {default}" if defaults else ""))
        return parts

    def passed(self, p):
        """Returns how a parameter is passed: lines before the call, a `fixed` of it, the expression."""
        name, role = self.names[p.name], p.role
        bare = name.lstrip("@")
        given = f'Errors.Given({name}, "{bare}")'
        if role == "length":
            size = "Length" if self.list_kind(p.counted)[0] == "numbers" else "Count"
            of = self.names[p.counted.name]
            value = f"({SCALARS[p.type]}){of}.{size}"
            return [], "", f"{of} == null ? 0 : {value}" if p.counted.nullable and size == "Count" else value
        if p.name in self.named:
            value, raw = f'Errors.NotNegative({name}.Value, "{bare}")', SCALARS[p.type]
            return [], "", value if raw == "long" else f"checked(({raw}){value})"
        if role == "number":
            return [], "", self.operations.number(p, name)[1]
        if role == "stream":
            return [], "", f"new synfire_stream({name})"
        if role == "object":
            return [], "", self.operations.use(p.type, name if p.nullable else given)
        if role == "text" and p.name in ("path", "names"):
            return [f'byte[] {bare}Text = Synfire.Name.Long({name}, "{bare}");'], \
                f"fixed (byte* {bare}Data = {bare}Text)", f"{bare}Data"
        if role == "text" and self.has_call:
            return [], "", f"call.Text({name if p.nullable else given})"
        if role == "text":
            # In full, because an object may have a property called Name.
            return ([f"byte* {bare}Text = stackalloc byte[Synfire.Name.Capacity];",
                     f'Synfire.Name.Write({name}, {bare}Text, "{bare}");'], "", f"{bare}Text")
        rule, entry = self.list_kind(p)
        if rule == "numbers":
            kind = "void" if p.target == "void" else entry
            pointer = f"{bare}Data"
            checks = [] if p.nullable else [f'Errors.GivenSpan<{entry}>({name}, "{bare}");']
            return (checks, f"fixed ({entry}* {pointer} = &MemoryMarshal.GetReference({name}))",
                    pointer if kind == entry else f"(void*){pointer}")
        return self.handles(p, name, given) if rule == "objects" else self.entries(p, name, given)

    def handles(self, p, name, given):
        kind, bare = p.target, name.lstrip("@")
        if kind != "synfire_buffer":
            self.stop(f"no rule makes a list of '{p.type}'")
        value = f'call.Use({given}, "{bare}")'
        return [], "", f"{name} == null ? null : {value}" if p.nullable else value

    def entries(self, p, name, given):
        kind, bare = p.target, name.lstrip("@")
        text, buffer = self.operations.entry(kind)
        self.operations.taken.add("synfire_buffer")
        count = f"{name} == null ? 0 : {name}.Count" if p.nullable else f"{given}.Count"
        loop = [f"foreach (KeyValuePair<string, BufferBase> entry in {name})", "{",
                f"    *{bare}At = {self.operations.start(kind)};",
                f"    {bare}At->{identifier(text)} = call.Text(entry.Key);",
                f'    {bare}At->{identifier(buffer)} = call.Use(Errors.Given(entry.Value, "{bare}"));',
                f"    ++{bare}At;", "}"]
        if p.nullable:
            loop = [f"if ({name} != null)"] + ["    " + line for line in loop]
        return ([f"int {bare}Count = {count};",
                 f"{kind}* {bare}List =", f"    ({kind}*)call.Memory({bare}Count, sizeof({kind}));",
                 f"{kind}* {bare}At = {bare}List;", *loop], "", f"{bare}List")

    def result(self, p):
        """Returns a result in C#: its type, the local variable, its start, the value that is returned."""
        target, name = p.target, self.names[p.name]
        if p.role == "string":
            return "string", "", f"Encoding.UTF8.GetString({name}, 0, Array.IndexOf({name}, (byte)0))"
        if p.role == "answer":
            made = answer_class(target)
            return made, f"{target} {name} = {target}.Init;", f"new {made}({name})"
        if p.role == "part":
            made = "Buffer<T>" if target == "synfire_buffer" else self.operations.class_of(target)
            return made, f"{target} {name};", f"new {made}(Context, {name})"
        kind, value = self.operations.answered(p, SCALARS[target], name)
        return kind, f"{SCALARS[target]} {name};", value

    def returned(self):
        kinds = [self.result(p)[0] for p in self.outputs]
        if len(kinds) > 1:
            return "(" + ", ".join(f"{kind} {property_name(p)}" for kind, p in zip(kinds, self.outputs)) + ")"
        return kinds[0] if kinds else self.owner if self.owner in CHAINED else "void"

    def body(self, indent):
        before, fixed, arguments = [], [], ["Raw"]
        asked, made, pinned_texts, text = {}, [], [], ""  # of the call that asks for the sizes of texts
        for p in self.method.parameters:
            name = self.names[p.name]
            if p.role == "string":
                text, asked[len(arguments)] = name, "null"
                pinned_texts.append(f"fixed (byte* {name.lstrip('@')}Data = {name})")
                arguments.append(f"{name.lstrip('@')}Data")
            elif p.role == "capacity":
                asked[len(arguments)] = "0"
                arguments.append(f"(ulong){text}.Length")
            elif p.role == "size":
                before.append(f"ulong {name};")
                made.append(f"byte[] {text} = new byte[checked((int){name} + 1)];")
                arguments.append(f"&{name}")
            elif p in self.outputs:
                before.append(self.result(p)[1])
                arguments.append(f"&{name}")
            else:
                lines, pinned, value = self.passed(p)
                before += lines
                fixed += [pinned] * bool(pinned)
                arguments.append(value)
        values = [self.result(p)[2] for p in self.outputs]
        answer = ["return " + (values[0] if len(values) == 1 else f"({', '.join(values)})") + ";"] if values else []
        answer += ["return this;"] if not values and self.owner in CHAINED else []
        inner = indent + "    " * self.has_call
        text = indented(before, inner)
        if asked:
            text += self.called(fixed, [asked.get(i, value) for i, value in enumerate(arguments)], inner)
        text += indented(made, inner) + self.called(fixed + pinned_texts, arguments, inner)
        if not self.has_call:
            return text + indented(["GC.KeepAlive(this);", *answer], indent)
        keep = ["Keep(call.Used);"] if self.owner == "Graph" else []
        return (indented(["using (Call call = new Call(this))", "{"], indent) + text + indented(keep + answer, inner) +
                f"{indent}}}\n")

    def called(self, fixed, arguments, inner):
        check = "Checked" if self.owner == "Graph" else "Errors.Check"
        return indented(fixed, inner) + wrapped(f"{check}(Native.{self.method.function}(", arguments, "));",
                                                inner + "    " * bool(fixed))

    def text(self):
        scope = model.Item(name=self.name, class_name=self.owner, fields=[],
                           parameters={p.name: self.names[p.name].lstrip("@") for p in self.inputs})
        doc = self.method.doc
        if self.is_property:
            doc = re.sub(r"^(?:Tells|Reads|Returns|Gives) (.)", lambda match: match[1].upper(), doc)
        summary_text = comment("summary", self.operations.words(doc, scope), " " * 8)
        if self.is_property:
            return (summary_text + f"        public {self.returned()} {self.name}\n        {{\n            get\n"
                    f"            {{\n{self.body(' ' * 16)}            }}\n        }}\n")
        texts = [self.parameter_text(p) for p in self.inputs]
        if all(texts):
            summary_text += "".join(comment(f'param name="{self.names[p.name].lstrip("@")}"', text, " " * 8)
                                    for p, text in zip(self.inputs, texts))
        head = f"public {self.returned()} {self.name}{'<T>' * self.is_generic}("
        return (summary_text + wrapped(head, self.signature(), ")" + " where T : struct" * self.is_generic, " " * 8) +
                f"        {{\n{self.body(' ' * 12)}        }}\n" + self.unnamed(head))

    def parameter_text(self, p):
        """Returns the text for the role of a parameter; all parameters are described, or none."""
        if p.role == "stream":
            return "A CUDA stream; zero is the context's own."
        if p.role == "list" and not p.is_read:
            return "Receives the values; its length says how many."
        return None

    def unnamed(self, head):
        """The overload that a call chooses which does not name steps and neurons (NamedLength.cs)."""
        if not self.named:
            return ""
        inputs = [p for p in self.inputs if p.role != "stream"]
        first = min(i for i, p in enumerate(inputs) if p.name in self.named)
        places = [self.names[p.name] + (": ..." if i >= first else "") for i, p in enumerate(inputs)]
        parts = [f"long position{i + 1}" if p.name in self.named else part
                 for i, (p, part) in enumerate(zip(self.inputs, self.signature()))]
        return ("\n" + comment("summary", "Not for use: steps and neurons need their names.", " " * 8) +
                f'        [Obsolete("write {self.name}({", ".join(places)})", true)]\n'
                "        [EditorBrowsable(EditorBrowsableState.Never)]\n" + wrapped(head, parts, ")", " " * 8) +
                "        {\n            throw new NotSupportedException();\n        }\n")


def answer(operations, struct):
    """The class of a structure that a function fills in."""
    name, fields = answer_class(struct.name), struct.given
    scope = model.Item(name=struct.name, class_name=name, fields=fields)
    members, lines, pointers = [], [], False
    for field in fields:
        prop, value = property_name(field), f"raw.{identifier(field.name)}"
        if field.role == "text":
            kind, value, pointers = "string", f"Errors.TextOf({value}, 256)", True
        elif field.type == "char" and field.array:
            kind, value, pointers = "string", f"Errors.TextOf({value}, {field.array})", True
        elif field.type in SCALARS and not field.array:
            kind, value = operations.answered(field, SCALARS[field.type], value)
        elif field.type in SCALARS:
            items = ", ".join(f"{value}[{i}]" for i in range(field.array))
            kind, value, pointers = f"{SCALARS[field.type]}[]", f"new[] {{ {items} }}", True
        else:
            stop(f"{struct.name}.{field.name}", f"no rule makes a property of '{field.type}'")
        members.append(comment("summary", operations.field_text(field, scope), " " * 8) +
                       f"        public {kind} {prop} {{ get; }}\n")
        lines.append(f"{prop} = {value};")
    if len({property_name(field) for field in fields}) < len(fields):
        stop(struct.name, "two fields become the same property")
    return (comment("summary", operations.words(struct.doc, scope), "    ") +
            f"    public sealed partial class {name}\n    {{\n"
            f"        internal {'unsafe ' if pointers else ''}{name}({struct.name} raw)\n        {{\n" +
            indented(lines, " " * 12) + "        }\n\n" + "\n".join(members) + "    }\n")


def new_object(operations, made, methods):
    """An object: the options that create it, its handle, its class."""
    name, options, handle = pascal(made.name), made.class_name, made.handle
    words = made.name.replace("_", " ")
    needs = any(field.is_needed and (field.role == "text" or operations.class_of(field.type)) for field in made.fields)
    holds = any(operations.class_of(field.target) or operations.entry(field.target) for field in made.fields)
    kept = ("        // The arguments of its creation: it keeps the buffers and objects that it uses.\n"
            "        internal IReadOnlyList<SynfireObject> Uses { get; }\n\n")
    given = "options" if needs else f"(options ?? new {options}())"
    make = (f"                {made.desc} desc = {given}.Desc(call);\n"
            f"                {handle} made;\n"
            f"                Errors.Check(Native.{made.create}(context.Raw, &desc, &made));\n"
            "                Handle.Adopt(made.Value);\n" + ("                Uses = call.Used;\n" if holds else ""))
    text = (operations.properties(made, f'Arguments for the creation of a <see cref="{name}"/>.') +
            f"\n    internal sealed class {name}Handle : NativeHandle\n    {{\n"
            f'        protected override string TypeName {{ get {{ return "{name}"; }} }}\n\n'
            "        protected override void Destroy() "
            f"{{ Native.{made.destroy}(new {handle}(handle)); }}\n    }}\n\n" +
            comment("summary", operations.words(made.doc, made), "    ") +
            f"    public sealed unsafe partial class {name} : SynfireObject\n    {{\n" +
            comment("summary", operations.words(operations.api.function[made.create].doc, made), " " * 8) +
            comment('param name="context"', "The context it belongs to.", " " * 8) +
            comment('param name="options"', "Its properties" +
                    ("." if needs else "; null means all defaults."), " " * 8) +
            f"        public {name}(Context context, {options} options{'' if needs else ' = null'})\n"
            f"            : base(new {name}Handle())\n"
            '        {\n            Context = Errors.Given(context, "context");\n' +
            ('            Errors.Given(options, "options");\n' if needs else "") +
            "            using (Call call = new Call(context))\n            {\n" + make + "            }\n        }\n\n"
                        + "".join(new_maker(operations, made, maker) for maker in operations.makers
                      if maker.object == made.name)
            + ("        // Takes over a handle that another object gave.\n"
               f"        internal {name}(Context context, {handle} made) : base(new {name}Handle())\n        {{\n"
               "            Context = context;\n            Handle.Adopt(made.Value);\n" +
               ("            Uses = new SynfireObject[0];\n" if holds else "") + "        }\n\n"
               if made.name in operations.api.parts | {maker.object for maker in operations.makers} else "") +
            f"        internal {handle} Raw {{ get {{ return new {handle}(Handle.Value); }} }}\n\n" +
            (kept if holds else "") +
            "        /// <summary>The context it belongs to.</summary>\n        public Context Context { get; }\n\n" +
            "".join(method + "\n" for method in methods) +
            f"        /// <summary>A description in words.</summary>\n"
            "        public override string ToString() "
            f'{{ return IsClosed ? "{words} (closed)" : "{words}"; }}\n    }}\n')
    return text


def new_maker(operations, made, maker):
    """The function that creates an object with other options."""
    name = pascal(made.name)
    return (comment("summary", operations.words(maker.doc, maker), " " * 8) +
            comment('param name="context"', "The context it belongs to.", " " * 8) +
            comment('param name="options"', "What it is created with.", " " * 8) +
            f"        public static {name} {pascal(maker.name)}(Context context, {maker.class_name} options)\n        {{\n"
            '            Errors.Given(options, "options");\n'
            '            using (Call call = new Call(Errors.Given(context, "context")))\n            {\n'
            f"                {maker.desc} desc = options.Desc(call);\n"
            f"                {made.handle} made;\n"
            f"                Errors.Check(Native.{maker.create}(context.Raw, &desc, &made));\n"
            f"                return new {name}(context, made);\n"
            "            }\n        }\n\n" +
            (f"        /// <summary>Bytes that a {made.name} with these options takes, before anything is allocated.</summary>\n" +
             comment('param name="context"', "The context it would belong to.", " " * 8) +
             comment('param name="options"', "What it is created with.", " " * 8) +
             f"        public static {pascal(maker.memory[len('synfire_'):])} QueryMemory(Context context, {maker.class_name} options)\n"
             '        {\n            using (Call call = new Call(Errors.Given(context, "context")))\n            {\n'
             f"                {maker.desc} desc = Errors.Given(options, \"options\").Desc(call);\n"
             f"                {maker.memory} memory = {maker.memory}.Init;\n"
             f"                Errors.Check(Native.{maker.query_memory}(&desc, &memory));\n"
             f"                return new {pascal(maker.memory[len('synfire_'):])}(memory);\n"
             "            }\n        }\n\n" if maker.query_memory else ""))


def objects(operations):
    """Objects.g.cs; nothing where classes written by hand wrap all objects and methods."""
    if not operations.objects and not operations.methods:
        return ""
    by_class = {}
    for method in operations.methods:
        by_class.setdefault(operations.classes[method.object], []).append(Method(operations, method).text())
    parts = [new_object(operations, made, by_class.pop(pascal(made.name), [])) for made in operations.objects]
    parts += [operations.properties(maker, f'The description of a <see cref="{pascal(maker.object)}"/> of another kind.')
              for maker in operations.makers]
    answers = {p.target for method in operations.methods for p in method.parameters
               if p.role == "answer"} - ANSWERS_BY_HAND
    parts += [answer(operations, struct) for struct in operations.api.structs if struct.name in answers]
    parts += [operations.owner(name, methods) for name, methods in by_class.items()]
    # The text of the operations was made before: they may take the objects too.
    taken = [(kind, operations.class_of(kind)) for kind in sorted(operations.taken)]
    uses = [f"        public {kind} Use({name} used)\n        {{\n"
            f"            if (used == null) return default({kind});\n            Hold(used);\n"
            "            return used.Raw;\n        }\n" for kind, name in taken if name and name not in IN_CALL]
    if uses:
        parts.append("    internal sealed unsafe partial class Call\n    {\n" + "\n".join(uses) + "    }\n")
    return (banner("Objects.g.cs", "the objects that no class written by hand wraps, and methods of all objects.") +
            "using System;\nusing System.Collections.Generic;\nusing System.ComponentModel;\n"
            "using System.Runtime.InteropServices;\nusing System.Text;\nusing Synfire.Raw;\n\nnamespace Synfire\n{\n" +
            blocks(parts) + "}\n")


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--check"]
    folder = pathlib.Path(arguments[1]) if len(arguments) > 1 else HERE / "src"
    api = model.read(*arguments[:1])
    operations = Operations(api)
    stale = []
    for name, fresh in (("Native.g.cs", native(api)), ("Constants.g.cs", constants(api)),
                        ("Operations.g.cs", operations.text()), ("Objects.g.cs", objects(operations))):
        path = folder / name
        if "--check" not in sys.argv and not fresh:
            path.unlink(missing_ok=True)
            continue
        if "--check" not in sys.argv:
            path.write_text(fresh, encoding="utf-8")
            continue
        recorded = path.read_text(encoding="utf-8") if path.exists() else ""
        if recorded != fresh:
            sys.stdout.writelines(difflib.unified_diff(recorded.splitlines(True), fresh.splitlines(True), str(path),
                                                       "what synfire.h says"))
            stale.append(path.name)
    if stale:
        sys.exit(f"generate.py: stale: {', '.join(stale)}; bindings/update.sh rewrites them")
    if "--check" in sys.argv:
        print(f"as generated: {len(api.functions)} functions, {len(operations.operations)} operations, "
              f"{len(operations.objects)} objects and {len(operations.methods)} methods without a class by hand")


if __name__ == "__main__":
    main()
