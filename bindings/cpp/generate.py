#!/usr/bin/env python3
"""Writes the mechanical part of synfire.hpp from the model of the C ABI (bindings/api/model.py):
generate.py [--check] [HEADER [WRAPPER]]

Without --check the marked blocks of include/synfire/synfire.hpp are rewritten; with it, a stale one is an error, with
the difference shown. The blocks are

    descriptors      xxx_desc(), for the descriptor of each operation and of each generated object
    destroy          what Owner calls to destroy a handle
    context members  member functions of Context
    buffer members   member functions of Buffer
    layer            member functions of Layer: those that run an operation at once, then the others
    objects          the classes of the objects that have none written by hand
    context          the free functions that run an operation at once
    graph            member functions of Graph: those that record an operation, then the others
    later members    the bodies of member functions that return an object whose class comes after theirs

An operation that runs on an object at once is a member of its class, without the object's name: Synapse::forward(). A
function of an object becomes a member function of its class, without `get_` unless the class has another member of
that name; where the whole name is taken, such as `reset`, the object's name is appended. A result, a structure that the
call fills in, an object, a text and a list of a length that the caller gives are returned, several of them as a tuple; a list that
the call reads is a vector. Functions that get, query or give a text are const. Where a function takes an object whose class comes later
in the header, its parameter is the handle, to which the object converts.

What an xxx_desc() takes: first what must be given (buffers, objects and names that may not be null; then required
numbers), then what has a default (the constants that choose a kind; then all else), each in the order of the header.
Flags, sums of constants, bounds, arrays and optional lists are left to the caller, who sets them in the descriptor.
Steps and neurons are types of their own, so that two integers cannot be swapped. Where a field is given exactly unless
another one is, there is a second function that takes that one, and what is given with it, in its place: of the same
name or, where the types would not tell them apart, xxx_desc_with_other().

Written by hand, in synfire.hpp:

    forward_desc, backward_desc  take what most passes have; the others, all optional, are too many
    native_desc                  is not there: most of the descriptor is lists, which the caller fills in by name
    record_native                wraps the callback, so that it may throw
    CLASSES_BY_HAND              the classes of these objects
    METHODS_BY_HAND              the wrappers of these functions

SPDX-License-Identifier: MIT
"""
import difflib
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bindings/api"))
import model  # noqa: E402

BY_HAND = {"forward_desc", "backward_desc", "native_desc", "record_native"}
# In the order of the header; the generated classes come before the last one.
CLASSES_BY_HAND = ["context", "buffer", "layer", "graph"]
# These classes make buffers in their context. An object with such parts knows its context and passes it to them.
CLASSES_WITH_CONTEXT = {"layer"}
METHODS_BY_HAND = {
    "synfire_context_reclaim", "synfire_context_synchronize", "synfire_context_get_properties", "synfire_buffer_fill",
    "synfire_buffer_mark_written", "synfire_buffer_get_desc", "synfire_layer_get_desc", "synfire_layer_set_parameter", "synfire_layer_get_parameter",
    "synfire_layer_set_parameters", "synfire_layer_set_n_active", "synfire_layer_get_parameter_info",
    "synfire_layer_reset_state", "synfire_graph_get_last_operation", "synfire_graph_instantiate",
    "synfire_graph_set_enabled", "synfire_graph_rebind", "synfire_graph_set_value", "synfire_graph_launch",
    "synfire_graph_wait", "synfire_graph_poll", "synfire_graph_get_statistics", "synfire_graph_reset_statistics",
    "synfire_network_evaluate_stages", "synfire_network_load_arrays", "synfire_network_train_stages"}
# Names that a member function may not have: the keywords of C++, and what member functions themselves use.
RESERVED = set("""
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char class co_await co_return co_yield compl
    concept const const_cast consteval constexpr constinit continue decltype default delete do double dynamic_cast else
    enum explicit export extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq
    nullptr operator or or_eq private protected public register reinterpret_cast requires return short signed sizeof
    static static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename
    union unsigned using virtual void volatile wchar_t while xor xor_eq
    check detail error neurons std steps""".split())
NAMED = {"n_steps": "steps", "n_neurons": "neurons"}
COLUMNS = 120
MARK = r"// ---- generated from synfire.h by bindings/cpp/generate.py: "
BLOCK = re.compile(rf"(?P<begin>{MARK}begin (?P<block>[\w ]+)\n).*?(?P<end>[ ]*{MARK}end (?P=block)\n)", re.S)


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


def pointee(kind):
    """The type that a pointer of C points to, and whether it is const: `const char *const *` -> `const char *`, True."""
    target = re.sub(r" ?\*$", "", kind)
    if target.endswith("*const"):
        return target[:-len("const")], True
    if target.startswith("const ") and "*" not in target:
        return target[len("const "):], True
    return target, False


def words(name):
    """delay_line -> delay line"""
    return name.replace("_", " ")


def article(name):
    return ("an " if name[0] in "aeiou" else "a ") + words(name)


def class_name(name):
    """delay_line -> DelayLine"""
    return "".join(part.capitalize() for part in name.split("_"))


def wrapped(text, head, hanging):
    """Lines of at most COLUMNS columns; text between backticks stays together."""
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
    behind, below = [f"{indent}{head}("], [f"{indent}{head}(", indent + "   "]
    hanging = " " * len(behind[0])
    for number, parameter in enumerate(parameters):
        text = parameter + (")" + tail if number == len(parameters) - 1 else ",")
        for lines, start in ((behind, hanging), (below, indent + "    ")):
            if lines[-1].endswith("("):
                lines[-1] += text
            elif len(lines[-1]) + 1 + len(text) <= COLUMNS:
                lines[-1] += " " + text
            else:
                lines.append(start + text)
    return below if len(behind) - len(below) >= 3 else behind


def function(head, parameters, tail, body, indent):
    """A function in a class. One statement stays on the line of the signature, where it fits."""
    if len(body) == 1 and "[&]" not in body[0]:
        line = f"{indent}{head}({', '.join(parameters)}){tail} {{ {body[0]} }}"
        if len(line) <= COLUMNS:
            return [line]
    lines = signature(head, parameters, tail + " {", indent)
    for statement in body:
        lines += broken(statement, indent + "  ")
    return lines + [indent + "}"]


def broken(statement, indent):
    """A statement; `check(f(a, b));` is broken after `check(` or, where that is not enough, between arguments."""
    if len(indent + statement) <= COLUMNS:
        return [indent + statement]
    match = re.fullmatch(r"(check\()(\w+)\((.*)\)\);", statement) or \
        re.fullmatch(r"(check_nodes\(\[&\] \{ return )(\w+)\((.*)\); \}\);", statement)
    if not match:
        return [indent + statement]
    if match[1] == "check(":
        if len(f"{indent}    {match[2]}({match[3]}));") <= COLUMNS:
            return [f"{indent}check(", f"{indent}    {match[2]}({match[3]}));"]
        return signature(match[1] + match[2], match[3].split(", "), ");", indent)
    return [f"{indent}check_nodes([&] {{"] + \
        signature("return " + match[2], match[3].split(", "), ";", indent + "  ") + [f"{indent}}});"]


def listed(parts):
    """a, b and c"""
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]


def names(fields):
    """Fields with their shapes: `a` (`[B, N]`), `b` and `c`."""
    shapes = ["; ".join(text for text in (shape_words(field.shape).replace("that of", "the shape of"),
                                          f"unless `{field.given_unless}` is given" if field.given_unless else "") if text)
              for field in fields]
    return listed([f"`{field.name}`" + (f" ({shape})" if shape else "") for field, shape in zip(fields, shapes)])


def accesses(operation):
    """Returns sentences about an operation's reads and writes."""
    sentences = []
    for access, verb in (("read", "Reads"), ("updated", "Reads and writes"), ("written", "Writes")):
        fields = [field for field in operation.fields if field.access == access]
        needed = [field for field in fields if not field.nullable or field.given_unless]
        optional = [field for field in fields if field not in needed]
        if needed:
            sentences.append(f"{verb} {names(needed)}.")
        if optional:
            sentences.append(f"{verb}, where given, {names(optional)}.")
    return " ".join(sentences)


class Generator:
    def __init__(self, api, header):
        self.api = api
        self.generated = [made for made in api.objects if made.name not in CLASSES_BY_HAND]
        self.classes = CLASSES_BY_HAND[:-1] + [made.name for made in self.generated] + CLASSES_BY_HAND[-1:]
        by_hand = BLOCK.sub("", header)
        self.members = {name: self.members_of(class_name(name), by_hand) for name in CLASSES_BY_HAND}
        self.common = self.members_of("Owner", by_hand)
        self.bodies = []
        for name in sorted(METHODS_BY_HAND - api.function.keys()):
            fail(f"METHODS_BY_HAND has {name}, which synfire.h does not have")

    @staticmethod
    def members_of(name, text):
        """The member functions of a class in the hand-written part of the header."""
        match = re.search(rf"^class {name} .*?^}};", text, re.S | re.M)
        if not match:
            fail(f"there is no class {name}")
        return set(re.findall(r"^  (?!template\b)[\w\[][^(\n]*?\b(\w+)\(", match[0], re.M))

    def helper(self, desc):
        """The name of the function that makes a descriptor."""
        return desc[len("synfire_"):]

    # ---- Descriptors ------------------------------------------------------------------------------------------------

    def sort(self, fields, instead=None):
        """The fields of a descriptor: those that must be given, those with a default, as pairs, and those left to the
        caller. `instead` is the field that is taken, with its companions, in place of the one that is given unless it is."""
        needed = [one for field in fields.needed(instead) for one in (field, field.length) if one]
        usual, kinds, optional, left = fields.needed(), [], [], []
        for field in fields:
            if field in usual or field.counted in usual or fields.is_alternative(field):
                continue
            if field.flag or field.any_of or field.array or field.is_bound or field.role in ("list", "length"):
                left.append(field)
            elif field.role != "number":
                optional.append((field, "nullptr"))
            elif field.one_of:
                zero = self.api.groups[field.one_of].zero
                # A field by which a descriptor has grown comes last, so that calls mean the same as before.
                grown = "Since ABI" in field.doc
                (optional if grown else kinds).append((field, zero.name if zero else "0"))
            else:
                # 0 stands for the library's default, which alone says how a fraction is rounded.
                optional.append((field, field.default if re.fullmatch(r"-?\d+", field.default or "") else "0"))
        # So do those in the place of a field that was reserved.
        optional.sort(key=lambda entry: "before, it had to be 0" in entry[0].doc)
        return needed, kinds + optional, left

    def field_doc(self, desc, field, default):
        """The text of a field; where several operations share the descriptor, what each of them does with a buffer."""
        text = field.doc if default else re.sub(r"\s*Default: [^.]*\.", "", field.doc)
        if not field.access:
            return text
        sharing = [operation for operation in self.api.operations if operation.desc == desc]
        if len(sharing) > 1:
            uses = []
            for operation in sharing:
                own = operation.fields.of[field.name]
                verb = {"read": "reads", "written": "writes", "updated": "reads and writes"}[own.access]
                uses.append(f"{operation.name} {verb} {shape_words(own.shape) or 'it'}" +
                            (" where one is given" if own.nullable else ""))
            return f"A buffer: {listed(uses)}."
        shape = shape_words(field.shape)
        return text + (f" Shape: {shape}." if shape and "[" not in text else "")

    def descriptor(self, desc):
        """The functions that fill it in: one, and one for each field that takes the place of another."""
        fields = self.api.struct[desc].given
        types = [field.type for field in self.sort(fields)[0]]
        functions = [self.filled_in(desc, self.helper(desc), *self.sort(fields))]
        for instead in fields.alternatives:
            others = self.sort(fields, instead)
            name = self.helper(desc)
            if [field.type for field in others[0]][:len(types)] == types[:len(others[0])]:
                name += f"_with_{instead}"
            functions.append(self.filled_in(desc, name, *others))
        return functions

    def filled_in(self, desc, name, needed, optional, left):
        struct = self.api.struct[desc]
        spelled, docs, body = [], [], []
        for field, default in [(field, None) for field in needed] + optional:
            kind = NAMED.get(field.name, cpp_type(field.type))
            value = f"{kind}{{{default}}}" if field.name in NAMED else default
            spelled.append(f"{kind} {field.name}" + (f" = {value}" if default else ""))
            docs.append((field.name, self.field_doc(desc, field, default)))
            body.append(f"  desc.{field.name} = {field.name}{'.count' if field.name in NAMED else ''};")
        rest = [f"`{field.name}`" for field in left]
        answer = "@return The descriptor" + (f"; {listed(rest)} may be set in it." if rest else ".")
        head = f"constexpr {desc} {name}"
        return comment([f"Fills in a ::{desc}.", struct.doc,
                        parameters_doc(docs) + [(answer, "")]], "") + \
            signature(head, spelled, " noexcept {", "") + \
            [f"  auto desc = detail::empty<{desc}>();"] + body + ["  return desc;", "}"]

    def descriptors(self):
        seen = []
        for operation in self.api.operations:
            if operation.desc not in seen and self.helper(operation.desc) not in BY_HAND:
                seen.append(operation.desc)
        seen += [made.desc for made in self.generated if made.desc not in seen]
        seen += [maker.desc for maker in self.api.makers]
        return [function for desc in seen for function in self.descriptor(desc)]

    # ---- Calls ------------------------------------------------------------------------------------------------------

    def call(self, operation, function, head, first, arguments, docs, stream, indent):
        """A function that fills in the size and calls a function of the C ABI."""
        desc, doc = operation.desc, self.api.function[function].doc
        parameters = first + [f"const {desc}& desc"] + (["synfire_stream stream = nullptr"] if stream else [])
        arguments = arguments + ["&sized"] + (["stream"] if stream else [])
        docs = docs + [("desc", f"What to do; {self.helper(desc)}() helps.")] + \
            ([("stream", "The CUDA stream; null is the context's own.")] if stream else [])
        docs = parameters_doc(docs) + [("@throws error", "")]
        return comment([doc, f"Calls {function}(). {accesses(operation)}", docs], indent) + \
            signature(head, parameters, " {", indent) + \
            [f"{indent}  const {desc} sized = detail::sized(desc);",
             f"{indent}  check({function}({', '.join(arguments)}));", f"{indent}}}"]

    def run_name(self, operation):
        """The member function that runs an operation at once; with the object's name where Owner has the other one."""
        return operation.name if operation.method in self.common | RESERVED else operation.method

    def at_once(self, owner):
        return [self.call(operation, operation.run, f"void {self.run_name(operation)}", [], ["handle_"], [], True, "  ")
                for operation in self.api.operations if operation.on == owner]

    def context(self):
        return [self.call(operation, operation.run, f"inline void {operation.name}", ["const Context& context"],
                          ["context"], [("context", "The context of the buffers.")], True, "")
                for operation in self.api.operations if operation.on == "context"]

    def record(self, operation):
        name = operation.object
        taken = [self.object_type("graph", f"synfire_{name}") + " " + name] if name else []
        doc = [(name, f"{article(name).capitalize()} of the same context.")] if name else []
        return self.call(operation, operation.record, f"void record_{operation.name}", taken,
                         ["handle_"] + ([name] if name else []), doc, False, "  ")

    def graph(self):
        return [self.record(operation) for operation in self.api.operations
                if f"record_{operation.name}" not in BY_HAND] + self.methods("graph")

    def layer(self):
        return self.at_once("layer") + self.methods("layer")

    # ---- Methods ----------------------------------------------------------------------------------------------------

    def object_type(self, owner, handle):
        """The parameter type for an object in a member function of `owner`: its class if that is complete, else the handle."""
        name = self.api.object_of[handle]
        complete = self.classes[:self.classes.index(owner) + 1]
        return f"const {class_name(name)}&" if name in complete else handle

    def method_name(self, method):
        owner, name = method.object, method.name
        taken = self.members.get(owner, set()) | self.common | RESERVED
        taken |= {self.run_name(operation) for operation in self.api.operations if operation.on == owner}
        taken |= {other.name for other in self.api.methods if other.object == owner and other is not method}
        bare = name[len("get_"):] if name.startswith("get_") else name
        return next(other for other in (bare, name, f"{name}_{owner}") if other not in taken)

    @staticmethod
    def said(symbol, parameter):
        """The header's text on a parameter."""
        return parameter.doc or f"As {symbol}() takes it."

    def number(self, symbol, parameter):
        name, kind, doc = parameter.name, parameter.type, self.said(symbol, parameter)
        if parameter.flag:
            doc = re.sub(r"\b0:", "False:", re.sub(r"\b1:", "True:", doc))
            return {"argument": f"{name} ? 1 : 0",
                    "taken": ("bool", name, "false" if parameter.optional else "", doc)}
        if (parameter.one_of or parameter.any_of) and not parameter.doc:
            group = (parameter.one_of or parameter.any_of).upper()
            doc = f"{'One' if parameter.one_of else 'A sum'} of `SYNFIRE_{group}_*`."
        default = ("0" if parameter.optional else
                   "std::numeric_limits<double>::quiet_NaN()" if parameter.optional_nan else "")
        return {"argument": f"{name}{'.count' * (name in NAMED)}",
                "taken": (NAMED.get(name, cpp_type(kind)), name, default, doc)}

    def length(self, counted, parameter):
        """The length of a list: a vector knows its own; for one that is returned, the caller says it."""
        name, kind, size = parameter.name, parameter.type, f"{counted.name}.size()"
        if pointee(counted.type)[1]:
            return {"argument": size if kind == "uint64_t" else f"static_cast<{cpp_type(kind)}>({size})"}
        spelled = NAMED.get(name, "std::size_t" if kind == "uint64_t" else cpp_type(kind))
        return {"argument": f"{name}{'.count' * (name in NAMED)}",
                "taken": (spelled, name, "", f"How many entries of `{counted.name}` to return.")}

    def list(self, symbol, parameter):
        name, length, (entry, reads) = parameter.name, parameter.length, pointee(parameter.type)
        held = {"char": "std::string", "void": "std::vector<unsigned char>"}.get(
            entry, f"std::vector<{cpp_type(entry)}>")
        if reads and parameter.nullable:
            return {"argument": f"{name}.empty() ? nullptr : {name}.data()",
                    "taken": (f"const {held}&", name, "{}", self.said(symbol, parameter) + " Empty: null.")}
        if reads:
            return {"argument": f"{name}.data()", "taken": (f"const {held}&", name, "", self.said(symbol, parameter))}
        size = f"{length.name}{'.count' * (length.name in NAMED)}"
        if length.type != "uint64_t" or length.name in NAMED:
            size = f"static_cast<std::size_t>({size})"
        filling = f", detail::empty<{entry}>()" if parameter.struct and parameter.struct.is_sized else \
            ", '\\0'" if entry == "char" else ""
        return {"argument": f"{name}.data()", "before": f"{held} {name}({size}{filling});", "result": (held, name)}

    def passed(self, method, parameter):
        """Describes how a parameter of the C function is passed: "argument", the expression that it is given; "taken", the
        type, name, default and text of the member function's own parameter; "before", a variable; "result", the type
        and the expression that is returned. For a text: "measured", the expression in the call that asks for its size,
        and "between" and "after", what follows that call and the second one."""
        symbol, role, name, kind = method.function, parameter.role, parameter.name, parameter.type
        if role == "number":
            return self.number(symbol, parameter)
        if role == "length":
            if kind not in model.NUMBERS:
                fail(f"{symbol}: the length {name} is not a number")
            return self.length(parameter.counted, parameter)
        if role == "list":
            return self.list(symbol, parameter)
        default, may_be_null = ("nullptr", "; may be null.") if parameter.nullable else ("", ".")
        if role == "text":
            return {"argument": name, "taken": ("const char*", name, default, self.said(symbol, parameter))}
        if role == "stream":
            return {"argument": name,
                    "taken": ("synfire_stream", name, default, "The CUDA stream; null is the context's own.")}
        if role == "object":
            text = f"{article(parameter.object).capitalize()} of the same context{may_be_null}"
            return {"argument": name,
                    "taken": (kind if default else self.object_type(method.object, kind), name, default, text)}
        if role in ("string", "capacity", "size"):
            roles, names = ["string", "capacity", "size"], [other.name for other in method.parameters]
            begin = names.index(name) - roles.index(role)
            text, _, size = names[begin:begin + 3]
            return {"string": {"argument": f"{text}.data()", "measured": "nullptr", "result": ("std::string", text),
                               "between": f"std::string {text}(static_cast<std::size_t>({size}) + 1, '\\0');",
                               "after": f"{text}.resize(std::char_traits<char>::length({text}.c_str()));"},
                    "capacity": {"argument": f"{text}.size()", "measured": "0"},
                    "size": {"argument": f"&{size}", "before": f"std::uint64_t {size} = 0;"}}[role]
        target = cpp_type(pointee(kind)[0])
        if role == "answer":
            return {"argument": f"&{name}", "before": f"auto {name} = detail::empty<{target}>();",
                    "result": (target, name)}
        if role == "part":
            made = class_name(parameter.object)
            context = "context_, " if parameter.object in CLASSES_WITH_CONTEXT else ""
            return {"argument": f"&{name}", "before": f"{target} {name} = nullptr;",
                    "result": (made, f"{made}({context}{name})")}
        if role == "result":
            return {"argument": f"&{name}", "before": f"{target} {name} = 0;",
                    "result": ("bool", f"{name} != 0") if parameter.flag else (target, name)}
        return fail(f"{symbol}: {name} has the unknown role '{role}'")

    def method(self, method):
        """A member function that calls a function of the C ABI."""
        symbol = method.function
        passed = [(parameter.name, self.passed(method, parameter)) for parameter in method.parameters]
        taken = [how["taken"] for _, how in passed if "taken" in how]
        taken = [one for one in taken if not one[2]] + [one for one in taken if one[2]]
        measures = any("measured" in how for _, how in passed)
        const = measures or re.match(r"(get|query)(_|$)", method.name)
        # Where native nodes may run, what they throw comes out of the call.
        nodes = method.object == "graph" and not const
        body = [how["before"] for _, how in passed if "before" in how]
        for key in ["measured"] * measures + ["argument"]:
            call = f"{symbol}({', '.join(['handle_'] + [how.get(key, how['argument']) for _, how in passed])})"
            body.append(f"check_nodes([&] {{ return {call}; }});" if nodes else f"check({call});")
            place = "between" if key == "measured" else "after"
            body += [how[place] for _, how in passed if place in how]
        results = [how["result"] for _, how in passed if "result" in how]
        names = [f"`{name}`" for name, how in passed if "result" in how]
        returned, answer = "void", []
        if len(results) == 1:
            returned = results[0][0]
            body.append(f"return {results[0][1]};")
            answer = [(f"@return {names[0]}, as {symbol}() gives it.", "")]
        elif results:
            returned = f"std::tuple<{', '.join(kind for kind, _ in results)}>"
            values = [f"std::move({value})" if kind.startswith(("std::vector", "std::string")) else value
                      for kind, value in results]
            body.append(f"return {{{', '.join(values)}}};")
            answer = [(f"@return {listed(names)}, as {symbol}() gives them.", "")]
        docs = parameters_doc([(name, text) for _, name, _, text in taken]) + answer + [("@throws error", "")]
        spelled = [f"{kind} {name}" + (f" = {default}" if default else "") for kind, name, default, _ in taken]
        text = comment([method.doc, f"Calls {symbol}().", docs], "  ")
        name, end = self.method_name(method), " const" if const else ""
        if not self.returns_later(method):
            return text + function(f"{returned} {name}", spelled, end, body, "  ")
        plain = [one.split(" = ")[0] for one in spelled]
        self.bodies.append(function(f"inline {returned} {class_name(method.object)}::{name}", plain, end, body, ""))
        return text + signature(f"{returned} {name}", spelled, f"{end};", "  ")

    def returns_later(self, method):
        """Returns true if it returns an object whose class comes after its own."""
        return any(parameter.role == "part" and
                   self.classes.index(parameter.object) >
                   self.classes.index(method.object) for parameter in method.parameters)

    def methods(self, owner):
        return [self.method(method) for method in self.api.methods
                if method.object == owner and method.function not in METHODS_BY_HAND]

    # ---- Objects ----------------------------------------------------------------------------------------------------

    def destroy(self):
        """The overloads that Owner chooses from, close together."""
        lines = []
        for handle in self.api.handles:
            if f"{handle.name}_destroy" in self.api.function:
                lines += [f"inline void destroy({handle.name} handle) noexcept {{",
                          f"  {handle.name}_destroy(handle);", "}"]
        return [lines]

    def object(self, made):
        """A class that owns a handle."""
        name, handle, desc = class_name(made.name), made.handle, made.desc
        head = f"/** {made.doc} See ::{handle}. */"
        lines = [head] if len(head) <= COLUMNS else comment([f"{made.doc} See ::{handle}."], "")
        default = "" if self.sort(made.fields)[0] else f" = {self.helper(desc)}()"
        docs = parameters_doc([("context", "The context it belongs to."),
                               ("desc", f"What to create; {self.helper(desc)}() helps.")]) + [("@throws error", "")]
        lines += [f"class {name} : public Owner<{handle}> {{", " public:", f"  /** No {words(made.name)}. */",
                  f"  {name}() noexcept = default;", ""]
        lines += comment([self.api.function[made.create].doc, f"Calls {made.create}().", docs], "  ")
        has_context = any(parameter.role == "part" and
                          parameter.object in CLASSES_WITH_CONTEXT
                          for method in self.api.methods if method.object == made.name
                          for parameter in method.parameters)
        lines += signature(f"{'explicit ' if default else ''}{name}",
                           ["const Context& context", f"const {desc}& desc{default}"],
                           " : context_(context) {" if has_context else " {", "  ")
        lines += [f"    const {desc} sized = detail::sized(desc);"]
        lines += broken(f"check({made.create}(context, &sized, &handle_));", "    ") + ["  }", ""]
        for maker in self.api.makers:
            if maker.object == made.name:
                lines += self.maker(name, maker)
        text = f"{article(made.name).capitalize()} that nothing else destroys, or null."
        lines += comment(["Takes over a handle.", parameters_doc([("handle", text)])], "  ")
        lines += [f"  explicit {name}({handle} handle) noexcept : Owner(handle) {{}}"]
        if has_context:
            context = ("context", "Its context, which its parts then know, as if it had been created with it.")
            lines += [""] + comment(["Takes over a handle.", parameters_doc([context, ("handle", text)])], "  ")
            lines += [f"  {name}(synfire_context context, {handle} handle) noexcept : Owner(handle), context_(context) {{}}"]
        for member in self.at_once(made.name) + self.methods(made.name):
            lines += [""] + member
        if has_context:
            lines += ["", " private:", "  synfire_context context_ = nullptr;"]
        return lines + ["};"]

    def maker(self, name, maker):
        """A constructor from another descriptor."""
        desc = maker.desc
        docs = parameters_doc([("context", "The context it belongs to."),
                               ("desc", f"What to create; {self.helper(desc)}() helps.")]) + [("@throws error", "")]
        return comment([maker.doc, f"Calls {maker.create}().", docs], "  ") + \
            signature(name, ["const Context& context", f"const {desc}& desc"], " {", "  ") + \
            [f"    const {desc} sized = detail::sized(desc);"] + \
            broken(f"check({maker.create}(context, &sized, &handle_));", "    ") + ["  }", ""]

    def objects(self):
        return [self.object(made) for made in self.generated]

    def rewrite(self, text):
        blocks = {"descriptors": self.descriptors(), "destroy": self.destroy(),
                  "context members": self.methods("context"),
                  "buffer members": self.at_once("buffer") + self.methods("buffer"),
                  "layer": self.layer(), "objects": self.objects(), "context": self.context(), "graph": self.graph(),
                  "later members": self.bodies}
        found = [match["block"] for match in BLOCK.finditer(text)]
        if sorted(found) != sorted(blocks):
            fail(f"the header has the blocks {found}; expected: {list(blocks)}")

        def fresh(match):
            functions = "\n".join("\n".join(lines) + "\n" for lines in blocks[match["block"]])
            return match["begin"] + (f"\n{functions}\n" if functions else "") + match["end"]
        return BLOCK.sub(fresh, text)


def main():
    arguments = [pathlib.Path(argument) for argument in sys.argv[1:] if argument != "--check"]
    header = arguments[1] if len(arguments) > 1 else ROOT / "include/synfire/synfire.hpp"
    recorded = header.read_text(encoding="utf-8")
    fresh = Generator(model.read(*arguments[:1]), recorded).rewrite(recorded)
    if "--check" not in sys.argv:
        header.write_text(fresh, encoding="utf-8")
    elif recorded != fresh:
        sys.stdout.writelines(difflib.unified_diff(recorded.splitlines(True), fresh.splitlines(True), str(header),
                                                   "what synfire.h says"))
        fail(f"{header} is stale: bindings/update.sh rewrites it")


if __name__ == "__main__":
    main()
