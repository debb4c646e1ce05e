"""Writes the methods of the operations in Julia: what generate.py puts into Synfire/src/operations.jl.

Every operation of the model that takes no callback becomes three functions: one that fills in its
descriptor from keywords, the method that records it into a graph and, where the C library runs it on its own, the
method that runs it now. What a keyword is called, which default it has and how it becomes a field follows from the
field's type, name and marks:

    buffers                   a Buffer or an array, which is borrowed; optional where the field is nullable
    layers, other objects     a Layer, or an object of another class
    streams                   what a CUDA stream is called in Julia; by default the context's own
    texts                     a symbol or a string
    lists and their lengths   one collection: of buffers, of numbers, or of `name = buffer`
    arrays of a fixed length  a collection of at most as many numbers; the others are 0
    constants                 a symbol; by default the one whose value is 0
    flags                     a Bool
    n_steps, n_neurons        steps, neurons
    first_row with n_rows     rows: a number, a range counted from 1, or `:`
    sums of constants         one keyword for each constant that a field is named after (`lower`), else a collection
    other numbers             required where they are marked so; by default what the header says, else 0, which stands
                              for the default of the C library

A field that is given exactly with or without another one is optional, and the call says which one is missing.

The function is called as the call that runs now is on its object, without the object's name: `forward!(synapse; ...)`,
and `forward!(graph, synapse; ...)`.

OWN_NAMES and OWN_FIELDS hold the few names that Julia programs used before the methods were generated. A new operation
needs no entry there.

SPDX-License-Identifier: MIT
"""
import re
import textwrap

WIDTH = 120

# Operations whose function has another name than theirs.
OWN_NAMES = {"copy": "copyto!"}

# Fields with a keyword of their own: (operation, field): (keyword, expression, documentation), or None for a field that
# the operation does not look at.
OWN_FIELDS = {
    ("backward", "forward"): ("of=nothing", 'of === nothing ? 0 : whole_size("of", of) + 1',
                              "In a graph: which forward of the layer, by the number that [`last_operation`](@ref) "
                              "gave for it. Default: the newest forward of the layer in the graph or, where it has "
                              "none, the forward that was recorded or run last anywhere."),
    ("combine_backward", "source"): ("source::Integer=1", 'row_index("source", source)',
                                     "Number of the source whose gradient is computed, counted from 1. Default: 1."),
    ("copy_rows", "destination_row"): ("to::Integer=1", 'row_index("to", to)',
                                       "First batch row that is written, counted from 1."),
    ("reset_rows", "buffer"): ("mask::Union{Buffer{UInt8},Nothing}=nothing", "buffer!(operands, mask)",
                               "Read, `[B]`: only rows whose byte is not 0 are reset. Default: all of them."),
    ("reset_rows", "name"): None,
    ("snapshot", "name"): None,
    ("restore", "name"): None,
}

# Exported functions of Base that change an argument: an operation of such a name is a method of that function.
BASE = {f"{name}!" for name in (
    "accumulate all any append broadcast circcopy circshift clamp conj copy copyto count cumprod cumsum delete "
    "deleteat digits empty fill filter findmax findmin get insert intersect invpermute keepat map maximum merge "
    "mergewith minimum partialsort partialsortperm permute permutedims pop popat popfirst prepend prod push pushfirst "
    "put read readbytes replace resize reverse setdiff setindex setproperty sizehint sort sortperm splice sum symdiff "
    "take union unique unsafe_copyto").split()}

# The element types of lists of numbers.
NUMBERS = {"double": "Float64", "float": "Float32", "int32_t": "Int32", "int64_t": "Int64", "uint32_t": "UInt32",
           "uint64_t": "UInt64", "uint8_t": "UInt8"}


BUFFERS = "Each buffer is a [`Buffer`](@ref), or an array whose memory is used directly."


# Exported types of Base that an object may not be called.
BASE_TYPES = set((
    "Array Channel Char Complex Condition Cmd Dict Enum Event Expr Function IO Iterators Libc Matrix Meta Method "
    "Module Pair Pipe Process Ptr Rational Ref Regex Set Symbol Sys Task Text Threads Timer Tuple Type Union Val "
    "Vector").split())


def class_name(name):
    """Returns the name of an object of C here: `delay_line` -> `DelayLine`."""
    called = "".join(part.capitalize() for part in name.split("_"))
    return f"Synfire{called}" if called in BASE_TYPES else called


def split(text):
    """At the commas outside parentheses."""
    return re.split(r",\s*(?![^(]*\))", text)


def julia_shape(shape):
    """`[T, B, ceil(N/32)]` -> `[cld(N, 32), B, T]`: the same memory, written in Julia's order."""
    def turn(match):
        lengths = [re.sub(r"ceil\((\w+)/(\w+)\)", r"cld(\1, \2)", length) for length in split(match[1])]
        return "[" + ", ".join(re.sub(r"^n_", "", length) for length in reversed(lengths)) + "]"
    return re.sub(r"\[([^\[\]]*)\]", turn, shape)


class Field:
    """A field of a descriptor as a keyword."""

    def __init__(self, keyword, expression, doc, first=False, marks=None):
        self.keyword, self.expression, self.doc, self.first, self.marks = keyword, expression, doc, first, marks
        self.name = re.match(r'var"\w+"|\w+', keyword)[0]
        self.plain = re.sub(r"::.*?(?==|$)", "", keyword)  # without its type
        self.required = "=" not in keyword


class Operations:
    def __init__(self, api, exported, identifier):
        self.api, self.identifier = api, identifier
        self.operations = [operation for operation in api.operations if not operation.has_callback]
        self.known = exported | BASE | {self.function(operation) for operation in self.operations}
        self.names = {}  # of functions, descriptors and objects of C, where no rule gives them
        self.owners = sorted((handle.object for handle in api.handles), key=len, reverse=True)
        # The classes of Julia by their handles of C.
        self.classes = {"synfire_context": "Context"}
        self.classes.update((made.handle, class_name(made.name)) for made in api.objects)

    # ---- Names -------------------------------------------------------------------------------------------------------

    @staticmethod
    def function(operation):
        short = re.sub(rf"^{operation.object}_", "", operation.name)
        return getattr(operation, "julia", None) or OWN_NAMES.get(operation.name, short + "!")

    def function_of(self, c):
        """Returns the name of a function, descriptor or object of C here; None where it has no name of its own."""
        if c in self.names:
            return self.names[c]
        for operation in self.api.operations:
            if c in (operation.record, operation.run, operation.desc):
                return self.function(operation)
        short = re.sub(rf"^synfire_(?:(?:{'|'.join(self.owners)})_)?(?:get_)?", "", c)
        return next((name for name in (short, short + "!") if name in self.known), None)

    def link(self, c):
        """A reference to what a function, descriptor or object of C is called here; None where it has no name."""
        name = self.function_of(c)
        of = next((operation.object for operation in self.api.operations if c in
                   (operation.record, operation.run, operation.desc)
                   and operation.name.startswith(f"{operation.object}_")), None)
        owner = f" of {'an' if of[0] in 'aeiou' else 'a'} {of.replace('_', ' ')}" if of else ""
        return f"[`{name}`](@ref){owner}" if name else None

    def symbols(self, group):
        return [(symbol.lower(), constant) for symbol, constant in self.api.symbols(group).items()]

    # ---- Texts -------------------------------------------------------------------------------------------------------

    def prose(self, text, operation, renamed=()):
        """A text of the header in Julia's words."""
        def function(match):
            return self.link(match[1]) or f"`LibSynfire.{match[1]}`"

        def member(match):
            link, field = self.link(match[1]), re.sub(r"^n_", "", match[2])
            return f"`{field}`" if link is None or match[1] == operation.desc else f"`{field}` of {link}"

        def constant(match):
            group = max((g for g in self.api.groups if match[1].lower().startswith(g + "_")), key=len, default=None)
            return f"`:{match[1][len(group) + 1:].lower()}`" if group else f"`SYNFIRE_{match[1]}`"

        def constants(match):
            return ", ".join(f"`:{name}`" for name, _ in self.symbols(match[1].lower()))

        # References to the operation itself say nothing here.
        for c in (operation.record, operation.run, operation.desc):
            text = re.sub(rf"[;:] (?:as |the same operation that )?{c}(?:\(\))?(?: says [^.;]*| records)?(?=\.)", "",
                          text)
        text = re.sub(r"`SYNFIRE_(\w+)_\*`", constants, text)
        text = re.sub(r"`desc\.(\w+)`", r"`\1`", text)
        text = re.sub(r"`?(?:::)?(synfire_\w+)::(\w+)`?", member, text)
        text = re.sub(r"(?<!`)(?:::)?\b(synfire_\w+)(?:\(\))?", function, text)
        text = re.sub(r"(?:::)SYNFIRE_(\w+)", constant, text)
        text = re.sub(r"`(\[[^`]*\])`", lambda match: f"`{julia_shape(match[1])}`", text)
        text = re.sub(r'`\\?"(\w+)\\?"`', r"`:\1`", text)
        for old, new in renamed:
            text = text.replace(f"`{old}`", f"`{new}`")
        text = re.sub(r"\bA null\b", "A missing", text)
        return re.sub(r"(?<!`)\b[Nn]ull\b", "`nothing`", text)

    def flag_prose(self, text):
        text = re.sub(r"(?<![\w.])0 \(default\):", "`false` (default):", text)
        text = re.sub(r"(?<![\w.])1:", "`true`:", text)
        return re.sub(r"Default 0:", "Default `false`:", text)

    # ---- Fields ------------------------------------------------------------------------------------------------------

    def fields(self, operation):
        """The keywords of an operation: buffers, layers and texts first, those that are needed before the others."""
        of, found, constants_of = operation.fields.of, [], {}
        for name, field in of.items():
            if (operation.name, name) in OWN_FIELDS:
                own = OWN_FIELDS[operation.name, name]
                if own:
                    found.append((name, Field(*own, first=bool(field.access), marks=field)))
                continue
            if field.role == "length" or re.fullmatch(r"n_(\w+)s", name) and f"first_{name[2:-1]}" in of:
                continue
            if field.any_of and all(symbol in of for symbol, _ in self.symbols(field.any_of)):
                constants_of[name] = field.any_of
                continue
            found.append((name, self.field(field, of)))
        # Sorting keeps the order of the descriptor otherwise.
        found.sort(key=lambda item: (not item[1].first, item[1].first and not item[1].required))
        return found, constants_of

    def field(self, field, of):
        name, kind, doc, keyword = field.name, field.type, field.doc, self.identifier(re.sub(r"^n_", "", field.name))
        if field.role == "list":
            return Field(f"{keyword}=()" if field.nullable else keyword, None, doc, first=True, marks=field)
        optional = "=nothing" if field.nullable else ""
        if field.access:
            return Field(keyword + optional, f"buffer!(operands, {keyword})", doc, first=True, marks=field)
        if kind in self.classes:
            julia = f"Union{{{self.classes[kind]},Nothing}}" if optional else self.classes[kind]
            return Field(f"{keyword}::{julia}{optional}", f"handle!(operands, {keyword})", doc, first=True)
        if field.role == "stream":
            return Field(f"{keyword}=nothing", f"stream_pointer({keyword})", doc)
        if field.array:
            return Field(f"{keyword}=()", f'fixed_list("{keyword}", {field.array}, {keyword})', doc)
        if field.role == "text":
            named = re.search(r'Default: `"(\w+)"`', doc)
            default = f"=:{named[1]}" if named else optional
            return Field(keyword + default, f"text!(operands, {keyword})", doc, first=True)
        if field.flag:
            return Field(f"{keyword}::Bool=false", keyword, self.flag_prose(doc))
        if field.one_of:
            group = field.one_of
            zero = self.api.groups[group].zero
            zero = f"=:{zero.symbol.lower()}" if zero else ""
            return Field(keyword + zero, f'constant("{keyword}", LibSynfire.{group}_names, {keyword})', doc)
        if field.any_of:
            group = field.any_of
            return Field(f"{keyword}=()", f'sum_of_constants("{keyword}", LibSynfire.{group}_names, {keyword})', doc)
        if field.is_bound:
            return Field(f"{keyword}=nothing", f"something({keyword}, 0)", f"{doc} Default: none.")
        rows = re.fullmatch(r"first_(\w+)", name)
        if rows and f"n_{rows[1]}s" in of:
            what = re.sub(r"^First (.*?)\b(\w+ )??row\b", r"\1\2rows", doc.split(". ")[0].rstrip("."))
            return Field(f"{rows[1]}s=:", None,
                         f"{what[:1].upper()}{what[1:]}: a number or a range, counted from 1. Default: all.")
        if name.endswith("_row"):
            return Field(f"{keyword}::Integer=1", f'row_index("{keyword}", {keyword})',
                         re.sub(r"\s*Default: 0\.", "", doc).rstrip(".") + ", counted from 1. Default: 1.")
        default = "" if field.required else f"={field.default or 0}"
        size = kind == "int64_t" and (name.startswith("n_") or re.search(r"Default: 1\.|at least", doc))
        return Field(keyword + default, f'whole_size("{keyword}", {keyword})' if size else keyword, doc)

    def entries(self, field):
        """How a list becomes the memory that the descriptor points to."""
        kind, struct, name = field.target, field.struct, self.identifier(field.name)
        if kind == "synfire_buffer":
            return f"buffers!(operands, {name})"
        if kind in self.classes:
            return f"handles!(operands, LibSynfire.{kind}, {name})"
        if struct is None:
            return f"list!(operands, {NUMBERS[kind]}, {name})"
        if self.is_named_buffer(struct):
            return f"named_buffers!(operands, LibSynfire.{kind}, {name})"
        return f"list!(operands, LibSynfire.{kind}, {name})"

    @staticmethod
    def is_named_buffer(struct):
        return [member.type for member in struct.fields] == ["const char *", "synfire_buffer"]

    # ---- Code --------------------------------------------------------------------------------------------------------

    @staticmethod
    def wrapped(head, items, tail, indent):
        """`head` item, item, ... `tail`, over as many lines as it takes; lines end between items."""
        items = ", ".join(item.replace(" ", "\0") for item in items)
        return "\n".join(textwrap.wrap(f"{head}{items}{tail}", WIDTH, subsequent_indent=" " * indent,
                                       break_long_words=False, break_on_hyphens=False)).replace("\0", " ")

    def request(self, operation):
        """The function that fills in the descriptor."""
        name, keywords, constants_of = operation.name, *self.fields(operation)
        of, names = operation.fields.of, [field.name for _, field in keywords]
        own = {"operands", "unknown", "stream"} if operation.run else {"operands", "unknown"}
        assert not set(names) & own, f"{name}: a keyword that the generator uses itself"
        context = "its_context" if "context" in names else "context"
        layer = "its_layer" if "layer" in names else "layer"
        of_layer = operation.object == "layer"
        neurons = f", {layer}.neurons" if of_layer else ", neurons" if "n_neurons" in of else ""
        owner = f"{context}::Context" + (f", {layer}::Layer" if of_layer else "")
        head = f"function {name}_request({owner}; "
        items = [field.keyword for _, field in keywords] + ["unknown..."]
        lines = [self.wrapped(head, items, ")", head.index("(") + 1)]
        text = "    isempty(unknown) || throw_unknown(unknown, ("
        lines.append(self.wrapped(text, [f":{n}" for n in names] + ([""] if len(names) == 1 else []), "))", len(text)))
        lines += self.missing(of, dict(keywords))
        lines.append(f"    operands = Operands({context}{neurons})")
        values = []
        for c, field in keywords:
            mark = of[c]
            key = self.identifier(c)
            if mark.role == "list":
                lines.append(f"    {field.name}_list = {self.entries(mark)}")
                values += [f"{key}=pointer_or_null({field.name}_list)",
                           f"{self.identifier(mark.length.name)}=length({field.name}_list)"]
                continue
            rows = re.fullmatch(r"first_(\w+)", c)
            if rows and f"n_{rows[1]}s" in of:
                lines.append(f"    first_{rows[1]}, n_{rows[1]}s = first_and_count(\"{rows[1]}s\", {rows[1]}s)")
                values += [f"first_{rows[1]}=first_{rows[1]}", f"n_{rows[1]}s=n_{rows[1]}s"]
                continue
            values.append(f"{key}={field.expression}")
        for c, group in constants_of.items():
            values.append(f"{c}=" + (" |\n" + " " * (9 + len(c))).join(
                f"({self.identifier(symbol)} === nothing ? 0 : LibSynfire.{constant.name})"
                for symbol, constant in self.symbols(group)))
        lines.append(f"    return Request(operands, LibSynfire.{operation.desc}(" + ("" if values else "))"))
        lines += [f"        {value}{',' if value is not values[-1] else '))'}" for value in values]
        return "\n".join(lines) + "\nend\n"

    @staticmethod
    def missing(of, keywords):
        """The lines that refuse a call without a keyword that another one, or its absence, makes necessary."""
        lines = []
        for c, field in of.items():
            if field.other:
                name, absent = keywords[c].name, "!==" if field.given_with else "==="
                lines.append(f"    {keywords[field.other.name].name} {absent} nothing && {name} === nothing && "
                             f"throw(UndefKeywordError(:{name}))")
        return lines

    def docs(self, operation):
        """The documentation of the method for graphs, and of the one that runs now."""
        name, (keywords, _) = self.function(operation), self.fields(operation)
        renamed = self.shortened(operation.fields)
        target = f"graph, {operation.object}" if operation.object else "graph"
        renamed += [(c, field.name) for c, field in keywords]
        signature = self.wrapped(f"    {name}({target}; ", [field.plain for _, field in keywords], ")", len(name) + 5)
        paragraphs = [self.prose(operation.doc, operation, renamed)]
        struct = self.api.struct[operation.desc]
        if sum(not other.has_callback for other in operation.sharing) == 1:
            paragraphs.append(self.prose(struct.doc, operation, renamed))
        if self.borrows(keywords):
            paragraphs.append(BUFFERS)
        out = [signature]
        out += self.text(paragraphs, [(field.name, self.field_doc(field, operation, renamed)) for _, field in keywords])
        recorded = "\n".join(out)
        if not operation.run:
            return recorded, None
        ran = self.api.function[operation.run].doc
        text = (f"{self.prose(ran, operation, renamed)} The keywords are those of `{name}({target}; ...)`; `stream` is "
                "the CUDA stream to run on, by default the context's own.")
        return recorded, "\n".join([f"    {name}({operation.on}; stream=nothing, ...)", ""] + self.filled(text))

    @staticmethod
    def filled(text, indent=""):
        return textwrap.wrap(text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)

    def text(self, paragraphs, items):
        """The lines of paragraphs, each after an empty one, and of a list of names with what they are."""
        lines = [line for paragraph in paragraphs for line in ["", *self.filled(paragraph)]]
        return lines + [""] * bool(items) + [line for name, doc in items
                                             for line in self.filled(f"- `{name}`: {doc}", "  ")]

    @staticmethod
    def shortened(fields):
        """The names that lose their `n_` here, and what becomes of them."""
        return [(field.name, field.name[2:]) for field in fields if field.name.startswith("n_")]

    @staticmethod
    def borrows(keywords):
        """True if one of the keywords takes an array in place of a buffer."""
        return any("buffer!(" in (field.expression or "") and "::" not in field.keyword for _, field in keywords)

    def field_doc(self, field, operation, renamed):
        doc, marks = field.doc, field.marks
        if marks and marks.access and (not doc or doc == "As the function defines it."):
            access = {"read": "Read", "written": "Written", "updated": "Read and written"}[marks.access]
            shape = "" if marks.shape == "any" else f", `{julia_shape(marks.shape)}`"
            return f"{access}{shape}."
        text = self.prose(doc, operation, renamed)
        if marks and doc.startswith(f"`n_{marks.name}` "):
            text = re.sub(r"^`\w+` (\w)", lambda match: match[1].upper(), text)
        if marks and marks.role == "list" and not marks.access:
            struct = marks.struct
            if struct and self.is_named_buffer(struct):
                called, buffer = struct.fields
                called, buffer = (self.lower(member.doc, operation, renamed) for member in (called, buffer))
                text += f" Given as `(name=buffer,)`. A name is that of {called} A buffer is {buffer}"
        return text

    def lower(self, text, operation, renamed):
        text = self.prose(text, operation, renamed)
        return text[:1].lower() + text[1:]

    def methods(self, operation):
        name, run = self.function(operation), operation.run
        defined = f"Base.{name}" if name in BASE else name
        recorded, ran = self.docs(operation)
        owner = operation.object
        graph = f"graph, {owner}" if owner else "graph"
        typed = f"graph::Graph, {owner}::{class_name(owner)}" if owner else "graph::Graph"
        layer = ", layer" if owner == "layer" else ""
        request = f"{operation.name}_request"
        out = [f"# ---- {name} ".ljust(WIDTH, "-") + "\n\n", self.request(operation), "\n", docstring(recorded),
               f"{defined}({typed}; arguments...) =\n",
               self.call("record!", [f"LibSynfire.{operation.record}",
                                     f"{request}(graph.context{layer}; arguments...)", graph])]
        if run:
            on = operation.on
            context = "context" if on == "context" else f"{on}.context{layer}"
            out += ["\n", docstring(ran), f"{defined}({on}::{class_name(on)}; stream=nothing, arguments...) =\n",
                    self.call("run!", [f"LibSynfire.{run}", f"{request}({context}; arguments...)", "stream", on])]
        return "".join(out)

    @staticmethod
    def call(function, arguments):
        line = f"    {function}({', '.join(arguments)})\n"
        if len(line) > WIDTH + 1:
            line = f"    {function}({arguments[0]},\n    {' ' * len(function)} {', '.join(arguments[1:])})\n"
        return line

    def exports(self):
        return list(dict.fromkeys(name for name in map(self.function, self.operations) if name not in BASE))

    def sections(self):
        return [self.methods(operation) for operation in self.operations]

    def generate(self):
        return ("# operations.jl - the operations of the C library as methods with keywords: recorded, or run now.\n"
                "# Objects and functions of the C library that no other file wraps are here too.\n"
                "#\n"
                "# Generated by bindings/julia/generate.py from include/synfire/synfire.h; do not edit.\n"
                "#\n"
                "# SPDX-License-Identifier: MIT\n\n" +
                self.wrapped("export ", self.exports(), "", 7) + "\n\n" + "\n".join(self.sections()))


def docstring(text):
    return '"""\n' + text.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$") + '\n"""\n'
