"""Writes what is mechanical about objects in Julia: what generate.py adds to the operations in operations.jl.

An object of the model becomes a class: a subtype of Handle with a constructor whose keywords are the
fields of its descriptor, as those of operations are. A function of an object becomes a method:

    numbers                   positional; n_steps and n_neurons are the keywords steps and neurons
    texts, objects            positional, or a keyword with the default `nothing` where they are nullable
    buffers with an access    a Buffer or an array, which is borrowed
    streams                   the keyword stream
    lists that C reads        one collection
    lists that C fills in     returned as an array; their length is positional
    texts that C gives        returned as a String; their size is asked for first
    results                   returned: a number, a Bool, a symbol
    structures filled in      returned as a named tuple
    an object that it gives   the function is a constructor of that class: Synapse(network, stage)

Several results are a named tuple. A function without a result ends in `!` and returns its object. A graph, and an
object of a generated class but those in COPIES, keeps the objects that it was given.

HAND_OBJECTS and HAND_FUNCTIONS are wrapped by hand in the other files. What is new in the header needs no entry.

SPDX-License-Identifier: MIT
"""
import re

import model
from operations import BASE, BUFFERS, NUMBERS, Operations, WIDTH, class_name, docstring

HAND_OBJECTS = {"buffer", "layer", "graph"}

HAND_FUNCTIONS = {f"synfire_{name}" for name in (
    "context_reclaim context_synchronize context_get_properties "
    "buffer_fill buffer_mark_written buffer_get_desc layer_get_desc "
    "layer_set_parameter layer_get_parameter layer_set_parameters layer_set_n_active layer_get_parameter_info "
    "layer_reset_state "
    "graph_get_last_operation graph_instantiate graph_set_enabled graph_rebind graph_set_value graph_launch graph_wait "
    "graph_poll graph_get_statistics graph_reset_statistics").split()}

# Those that change their object, although they give something.
CHANGING = {"synfire_network_train"}
# Those of whose Julia function the other files have another method.
# Those that do not, although they give nothing.
UNCHANGING = {"synfire_network_save"}
OVERLOADED = {f"synfire_network_{name}" for name in ("evaluate", "infer", "set_data", "set_value")}
# The types of objects loaded as text that are used wherever a constant of a group is.
LOADED = {"model": "LoadedModel", "surrogate": "LoadedSurrogate"}
# Objects that copy what their functions are given.
COPIES = {"network"}

# Exported functions of Base that ask for something: a function of such a name is a method of that function.
BASE_QUESTIONS = set((
    "abs all angle any argmax argmin axes bind bitstring broadcast clamp collect contains convert copy count cumsum "
    "denominator detach diff digits display div download dump eltype empty enumerate error exponent extrema fetch "
    "filter findall findfirst findlast findmax findmin first flush fullname get hash identity imag in indexin "
    "instances inv isempty isequal islocked ismarked isopen isperm isready isvalid keys keytype kill last length lock "
    "log map mark match max maximum merge methods min minimum mod names ndims norm notify numerator only open pairs "
    "parent peek pointer position precision print prod promote rand range read real reduce rem repeat replace reset "
    "rounding reshape retry reverse round run schedule seek show sign significand similar size sizeof skip sleep sort split "
    "stat step stride strides string strip success sum summary time touch transpose trunc truncate tryparse union "
    "unique unlock values vec view wait which widen write xor yield zero zeros zip").split())


class Objects(Operations):
    """Operations, and the objects and functions that are not wrapped by hand."""

    def __init__(self, api, exported, taken, identifier):
        super().__init__(api, exported, identifier)
        # `taken` are the functions of the other files, each with the class of its first argument.
        self.exported, self.taken = exported, taken | {(self.function(operation), "Graph")
                                                       for operation in self.operations}
        self.internal = {name for name, _ in taken} - exported - BASE - BASE_QUESTIONS
        self.objects = self.sorted([self.creation(made) for made in api.objects if made.name not in HAND_OBJECTS])
        self.makers = [self.creation(maker.extended(destroy=None)).extended(julia=maker.name, of=maker.object)
                       for maker in api.makers]
        made = {made.name for made in self.objects}
        for name in set(self.classes) - {f"synfire_{name}" for name in {"context"} | HAND_OBJECTS | made}:
            del self.classes[name]
        self.functions_of = [self.named(method) for method in api.methods
                             if method.function not in HAND_FUNCTIONS and self.is_known(method)]
        self.known |= {method.julia for method in self.functions_of}
        self.keepers = {"graph"} | (made - COPIES)
        self.parts = {self.part(method) for method in self.functions_of if self.part(method)}
        for made in self.objects:
            self.names.update(dict.fromkeys((made.handle, made.record, made.desc), made.julia))
            self.names[made.destroy] = "close"
        for maker in self.makers:
            self.names.update(dict.fromkeys((maker.record, maker.desc), maker.julia))
            self.names[maker.query_memory] = "query_memory"
        self.names.update((method.function, method.julia) for method in self.functions_of)

    # ---- Selection and names -----------------------------------------------------------------------------------------

    def creation(self, made):
        """An object in the form of an operation. Callbacks and bare memory are left out: they stay null."""
        def is_known(field):
            if field.access or field.type in self.classes or field.role in ("text", "stream"):
                return True
            if field.type.endswith("*"):
                return field.role == "list" and field.target in {*NUMBERS, *self.classes, *self.api.struct}
            return field.role != "callback" and field.type != "char"

        known = [field for field in made.fields if is_known(field)]
        known = [field for field in known if (field.counted or field) in known]
        missing = [field.name for field in made.fields if field not in known and not field.nullable]
        assert not missing, (f"{made.handle}: no keyword can be made of {', '.join(missing)}; write this class by "
                             "hand, and add it to HAND_OBJECTS")
        return made.extended(julia=class_name(made.name), record=made.create, run=None, object=None,
                             fields=model.Fields([field.extended() for field in known], self.api))

    @staticmethod
    def sorted(objects):
        """Each object after those that its descriptor refers to."""
        order, left = [], list(objects)
        while left:
            waiting = {made.handle for made in left}
            ready = [made for made in left
                     if not any(field.target in waiting - {made.handle} for field in made.fields)]
            assert ready, f"objects that refer to each other: {', '.join(sorted(waiting))}"
            order += ready
            left = [made for made in left if made not in ready]
        return order

    def is_known(self, method):
        """Returns true if a method can be made of a function; others are written by hand."""
        for parameter in method.parameters:
            role, target = parameter.role, parameter.target
            if role == "object" and target not in self.classes or role == "length" and "*" in parameter.type:
                return False
            if role == "list" and target not in NUMBERS:
                if target != "char" and not (parameter.is_read and (target in self.classes or self.is_plain(target))):
                    return False
        return f"synfire_{method.object}" in self.classes

    @staticmethod
    def part(method):
        """The handle of the object that a function gives."""
        return next((parameter.target for parameter in method.parameters if parameter.role == "part"), None)

    def is_plain(self, struct):
        """True if the entries of a list of structures are made of numbers, texts and objects."""
        return struct in self.api.struct and all(
            field.type in NUMBERS or field.type in self.classes or field.role == "text"
            for field in self.api.struct[struct].fields)

    @staticmethod
    def answers(method):
        return [parameter for parameter in method.parameters if parameter.role in ("result", "answer", "string", "part")
                or parameter.role == "list" and not parameter.is_read]

    def named(self, method):
        """A function in the form of an operation, with its name in Julia."""
        name, owner = re.sub(r"^get_", "", method.name), class_name(method.object)
        if self.part(method):
            return method.extended(julia=class_name(name), record=method.function, run=None, desc=method.function)
        changes = not self.answers(method) and method.function not in UNCHANGING
        if (changes or method.function in CHANGING) and (name not in self.exported or method.function in OVERLOADED):
            name += "!"
        if method.function not in OVERLOADED and (name in self.internal or (name, owner) in self.taken):
            name = f"{method.object}_{name}"
        self.taken.add((name, owner))
        return method.extended(julia=name, record=method.function, run=None, desc=method.function)

    # ---- Objects -----------------------------------------------------------------------------------------------------

    def object_code(self, made):
        name, handle, own = made.julia, made.handle, made.name
        (keywords, _), renamed = self.fields(made), self.shortened(made.fields)
        plain = [field.plain for _, field in keywords]
        target = "context; " if plain else "context"
        items = [(field.name, self.field_doc(field, made, renamed + [(c, field.name) for c, field in keywords]))
                 for _, field in keywords]
        paragraphs = [made.doc, self.api.struct[made.desc].doc]
        paragraphs = [self.prose(text, made, renamed) for text in paragraphs if text]
        if self.borrows(keywords):
            paragraphs.append(BUFFERS)
        doc = [self.wrapped(f"    {name}({target}", plain, ")", len(name) + 5),
               f"    {name}(f, context; ...)" if plain else f"    {name}(f, context)", *self.text(paragraphs, items)]
        return (f"# ---- {name} ".ljust(WIDTH, "-") + "\n\n" + docstring("\n".join(doc)) +
                f"mutable struct {name} <: Handle\n"
                f"    handle::LibSynfire.{handle}\n"
                "    is_open::Threads.Atomic{Int}\n"
                "    context::Context\n"
                "    keeps::Vector{Any}    # what it uses\n\n"
                f"    function {name}(context::Context; arguments...)\n"
                f"        request = {own}_request(context; arguments...)\n"
                f"        handle = Ref(LibSynfire.{handle}(C_NULL))\n"
                f"        check(LibSynfire.{made.create}(context, request, handle))\n"
                f"        {own} = adopt(new(handle[], Threads.Atomic{{Int}}(1), context, Any[]))\n"
                f"        return keep!({own}, request.operands.handles...)\n"
                "    end\n" +
                ("    # Takes over a handle that another object gave.\n"
                 f"    {name}(context::Context, handle::LibSynfire.{handle}) =\n"
                 "        adopt(new(handle, Threads.Atomic{Int}(1), context, Any[]))\n" if handle in self.parts | {maker.handle for maker in self.makers} or own in COPIES else "") +
                "end\n\n"
                f"{name}(f, context::Context; arguments...) = with_handle(f, {name}(context; arguments...))\n\n"
                f"destroy(::{name}, handle) = LibSynfire.{made.destroy}(handle)\n\n"
                f"Base.show(io::IO, {own}::{name}) = print(io, \"{name}\", isopen({own}) ? \"\" : \" (closed)\")\n\n" +
                self.request(made))

    def maker_code(self, maker):
        """The function that makes an object of another descriptor."""
        name, of = maker.julia, class_name(maker.of)
        (keywords, _), renamed = self.fields(maker), self.shortened(maker.fields)
        plain = [field.plain for _, field in keywords]
        items = [(field.name, self.field_doc(field, maker, renamed + [(c, field.name) for c, field in keywords]))
                 for _, field in keywords]
        paragraphs = [self.prose(text, maker, renamed) for text in (maker.doc, self.api.struct[maker.desc].doc)]
        doc = [self.wrapped(f"    {name}(context; ", plain, f") -> {of}", len(name) + 5), f"    {name}(f, context; ...)",
               *self.text(paragraphs, items)]
        return (f"# ---- {name} ".ljust(WIDTH, "-") + "\n\n" + docstring("\n".join(doc)) +
                f"function {name}(context::Context; arguments...)\n"
                f"    request = {name}_request(context; arguments...)\n"
                f"    handle = Ref(LibSynfire.{maker.handle}(C_NULL))\n"
                f"    check(LibSynfire.{maker.create}(context, request, handle))\n"
                f"    return {of}(context, handle[])\n"
                "end\n\n"
                f"{name}(f, context::Context; arguments...) = with_handle(f, {name}(context; arguments...))\n\n" +
                self.request(maker) + (self.memory_code(maker) if maker.query_memory else ""))

    def memory_code(self, maker):
        """The function that says how much memory such an object would take."""
        name, struct = maker.julia, maker.memory
        fields = [field.name for field in self.api.struct[struct].given]
        return ("\n" + docstring(f"    query_memory({name}, context; ...) -> NamedTuple\n\nThe bytes that what [`{name}`](@ref) makes "
                                 f"with these arguments takes on its device,\nbefore anything is allocated.") +
                f"function query_memory(::typeof({name}), context::Context; arguments...)\n"
                f"    request = {name}_request(context; arguments...)\n"
                f"    memory = Ref(LibSynfire.{struct}())\n"
                f"    GC.@preserve request check(LibSynfire.{maker.query_memory}(request.desc, memory))\n" +
                self.wrapped("    return (", [f"{field}=Int(memory[].{field})" for field in fields], ")", 12) + "\nend\n")

    # ---- Functions ---------------------------------------------------------------------------------------------------

    def value(self, marks, c):
        """Returns the Julia expression for a value of C, and the name of its type."""
        kind = marks.target if marks.role == "result" else marks.type
        if marks.array:
            return (f"text_of({c})", "String") if kind == "char" else (c, "Tuple")
        if marks.flag:
            return f"{c} != 0", "Bool"
        if marks.one_of:
            return f"constant_name(LibSynfire.{marks.one_of}_names, {c})", "Symbol"
        if marks.any_of:
            return f"constant_names(LibSynfire.{marks.any_of}_names, {c})", "Vector{Symbol}"
        if marks.role == "text":
            return (f"{c} == C_NULL ? nothing : unsafe_string({c})" if marks.nullable else f"unsafe_string({c})",
                    "String")
        if kind in ("float", "double"):
            return c, NUMBERS[kind]
        return (f"Int({c})", "Int") if kind in NUMBERS else (c, "")

    def entry(self, struct):
        """How an entry of a list of structures is made of a named tuple."""
        fields = []
        for field in self.api.struct[struct].given:
            name, c = field.name, f"entry.{self.identifier(field.name)}"
            if field.access:
                c = f"buffer!(operands, {c})"
            elif field.type in self.classes:
                c = f"handle!(operands, {c})"
            elif field.role == "text":
                c = f"text!(operands, {c})"
            elif field.one_of:
                c = f'constant("{name}", LibSynfire.{field.one_of}_names, {c})'
            elif field.any_of:
                c = f'sum_of_constants("{name}", LibSynfire.{field.any_of}_names, {c})'
            fields.append(f"{self.identifier(name)}={c}")
        head = f"        LibSynfire.{struct}("
        return self.wrapped(head, fields, ")", len(head))

    def function_code(self, method):
        name, own = method.julia, method.object
        defined = f"Base.{name}" if name in BASE | BASE_QUESTIONS else name
        names = {parameter.name for parameter in method.parameters}
        local = {own, "operands", "status", "check", "fail", "constant", "raw"}
        local |= {"length"} if any(parameter.role in ("length", "size") for parameter in method.parameters) else set()
        positional, keywords, before, given, after, items = [], [], [], [], [], []
        asked, sized = {}, []  # what asks for the size of a text, by position, and what is made of that size

        def own_name(c):
            short = c[2:] if c.startswith("n_") and c[2:] not in names else c
            return f"its_{short}" if short in local else self.identifier(short)

        for parameter in method.parameters:
            c, role, kind = parameter.name, parameter.role, parameter.target
            x, optional = own_name(c), parameter.nullable
            if role == "number":
                if parameter.one_of:
                    positional.append(x)
                    given.append(f'constant("{x}", LibSynfire.{parameter.one_of}_names, {x})')
                    symbols = ", ".join(f"`:{symbol}`" for symbol, _ in self.symbols(parameter.one_of))
                    loaded = f", or a [`{LOADED[parameter.one_of]}`](@ref)" if parameter.one_of in LOADED else ""
                    items.append((x, f"One of {symbols}{loaded}."))
                elif parameter.any_of:
                    positional.append(x)
                    given.append(f'sum_of_constants("{x}", LibSynfire.{parameter.any_of}_names, {x})')
                    symbols = ", ".join(f"`:{symbol}`" for symbol, _ in self.symbols(parameter.any_of))
                    items.append((x, f"Any of {symbols}, as a collection."))
                elif parameter.flag:
                    positional.append(f"{x}::Bool" + "=false" * bool(parameter.optional))
                    given.append(x)
                elif c in ("n_steps", "n_neurons"):
                    keywords.append(f"{x}::Integer")
                    given.append(f'whole_size("{x}", {x})')
                elif c.endswith("_row"):
                    positional.append(f"{x}::Integer")
                    given.append(f'row_index("{x}", {x})')
                    items.append((x, "A batch row, counted from 1."))
                else:
                    items += [(x, "Counted from 0.")] if re.fullmatch(r"(\w+_)?index", c) else []
                    positional.append(f"{x}::{'Real' if kind in ('float', 'double') else 'Integer'}" +
                                      "=0" * bool(parameter.optional) +
                                      "=NaN" * bool(parameter.optional_nan))
                    given.append(f'whole_size("{x}", {x})' if c.startswith("n_") else x)
            elif role == "text":
                keywords += [f"{x}=nothing"] if optional else []
                positional += [] if optional else [f"{x}::Union{{Symbol,AbstractString}}"]
                given.append(f"{x} === nothing ? C_NULL : String({x})" if optional else f"String({x})")
            elif role == "object" and parameter.access:
                (keywords if optional else positional).append(f"{x}=nothing" if optional else x)
                given.append(f"buffer!(operands, {x})")
                items.append((x, self.buffer_doc(parameter)))
            elif role == "object":
                julia = self.classes[kind]
                keywords += [f"{x}::Union{{{julia},Nothing}}=nothing"] if optional else []
                positional += [] if optional else [f"{x}::{julia}"]
                given.append(f"handle!(operands, {x})")
            elif role == "stream":
                keywords.append(f"{x}=nothing")
                given.append(f"stream_pointer({x})")
                items.append((x, "The CUDA stream to run on. Default: the context's own."))
            elif role == "list" and parameter.is_read:
                (keywords if optional else positional).append(f"{x}=()" if optional else x)
                made, doc = self.read_list(parameter, kind, x)
                before.append(made)
                given.append(f"pointer_or_null({x}_list)" if optional else f"{x}_list")
                items += [(x, doc)] if doc else []
            elif role == "list":
                length = parameter.length.name
                length = own_name(length) if length[2:] != c else length
                element = NUMBERS.get(kind, "UInt8")
                before.append(f'    {x} = Vector{{{element}}}(undef, whole_size("{length}", {length}))')
                given.append(x)
                after.append((c, x if kind in NUMBERS else f"text_of({x})",
                              f"Vector{{{element}}}" if kind in NUMBERS else "String"))
                what = f"The length of `{x}`." if len(self.answers(method)) > 1 else "The length of the result."
                if kind not in NUMBERS:
                    what = "The most bytes that the text may take, its final null included."
                items.append((length, what))
            elif role == "length":
                listed = parameter.counted
                if listed.is_read:
                    given.append(f"length({own_name(listed.name)}_list)")
                else:
                    length = own_name(c) if c[2:] != listed.name else c
                    positional.append(f"{length}::Integer")
                    given.append(f"length({own_name(listed.name)})")
            elif role == "string":
                text, asked[len(given)] = x, "C_NULL"
                given.append(x)
                after.append((c, f"text_of({x})", "String"))
            elif role == "capacity":
                asked[len(given)] = "0"
                given.append(f"sizeof({text})")
            elif role == "size":
                before.append(f"    {x} = Ref(UInt64(0))")
                given.append(x)
                sized.append(f"    {text} = zeros(UInt8, {x}[] + 1)")
            elif role == "part":
                before.append(f"    {x} = Ref(LibSynfire.{kind}(C_NULL))")
                given.append(x)
                after.append((c, f"{self.classes[kind]}({own}.context, {x}[])", self.classes[kind]))
            elif role == "result":
                before.append(f"    {x} = Ref{{{NUMBERS.get(kind, 'Int32')}}}(0)")
                given.append(x)
                after.append((c, *self.value(parameter, f"{x}[]")))
            else:
                before.append(f"    {x} = Ref(LibSynfire.{kind}())")
                given.append(x)
                members = [(re.sub(r"^n_", "", field.name), field) for field in parameter.struct.given]
                made = [f"{member}={self.value(field, f'{x}[].' + self.identifier(field.name))[0]}"
                        for member, field in members]
                after.append((c, made, "NamedTuple"))
                items += [(member, self.answer_doc(field, method)) for member, field in members]
        return (f"# ---- {own}: {name} ".ljust(WIDTH, "-") + "\n\n" +
                docstring(self.function_doc(method, positional, keywords, after, items)) +
                self.body(method, defined, positional, keywords, before, given, after, asked, sized))

    def read_list(self, parameter, kind, x):
        """A list that the C library reads, and what it is made of."""
        head = f"    {x}_list = "
        if kind in NUMBERS:
            return f"{head}list!(operands, {NUMBERS[kind]}, {x})", "A collection of numbers."
        if kind == "char":
            return f"{head}collect(UInt8, codeunits({x}))", "A text."
        if kind == "synfire_buffer" and parameter.access:
            return f"{head}buffers!(operands, {x})", f"A collection. {self.buffer_doc(parameter)}"
        if kind in self.classes:
            return (f"{head}handles!(operands, LibSynfire.{kind}, {x})",
                    f"A collection of objects of the class [`{self.classes[kind]}`](@ref).")
        members = ", ".join(f"`{field.name}`" for field in parameter.struct.given)
        return (f"{head}list!(operands, LibSynfire.{kind}, [\n{self.entry(kind)}\n        for entry in {x}])",
                f"A collection of named tuples of {members}.")

    @staticmethod
    def buffer_doc(parameter):
        access = {"read": "Read", "written": "Written", "updated": "Read and written"}[parameter.access]
        return f"{access}: a [`Buffer`](@ref), or an array whose memory is used directly."

    def answer_doc(self, field, method):
        text = self.prose(field.doc, method, [])
        return re.sub(r"^1 (?=when|where|if)", "`true` ", self.flag_prose(text)) if field.flag else text

    def function_doc(self, method, positional, keywords, after, items):
        called = [re.sub(r"::.*?(?==|$)", "", item) for item in positional]
        named = [re.sub(r"::.*?(?==|$)", "", item) for item in keywords]
        target = ", ".join([method.object, *called]) + (f"; {', '.join(named)}" if named else "")
        answer = "" if not after else f" -> {after[0][2]}" if len(after) == 1 else " -> NamedTuple"
        paragraphs = [self.prose(method.doc, method, self.shortened(method.parameters))]
        if len(after) > 1:
            names = [f"`{c}`" for c, _, _ in after]
            paragraphs.append(f"Returns {', '.join(names[:-1])} and {names[-1]}.")
        return "\n".join([f"    {method.julia}({target}){answer}", *self.text(paragraphs, items)])

    def body(self, method, defined, positional, keywords, before, given, after, asked, sized):
        own = method.object
        head = f"function {defined}("
        signature = [f"{own}::{class_name(own)}", *positional]
        if keywords:
            signature[-1:] = [f"{signature[-1]}; {keywords[0]}", *keywords[1:]]
        lines = [self.wrapped(head, signature, ")", len(head))]
        uses = any("operands" in text for text in before + given)
        if uses:
            lines.append(f"    operands = Operands({own if own == 'context' else f'{own}.context'})")
        lines += before
        if asked:
            lines += self.called(method, [asked.get(i, value) for i, value in enumerate(given)], uses)
        lines += sized + self.called(method, given, uses)
        if any(re.search(r"\bbuffers?!\(operands", text) for text in before + given):
            lines.append("    close_borrowed(operands)")
        if uses and own in self.keepers:
            lines.append(f"    keep!({own}, operands.handles...)")
        if len(after) == 1 and not isinstance(after[0][1], list):
            lines.append(f"    return {after[0][1]}")
        elif after:
            made = after[0][1] if len(after) == 1 else [
                f"{self.identifier(c)}={self.tuple_of(x) if isinstance(x, list) else x}" for c, x, _ in after]
            lines.append(self.wrapped("    return (", made, ",)" if len(made) == 1 else ")", 12))
        else:
            lines.append(f"    return {own}")
        return "\n".join(lines) + "\nend\n"

    def called(self, method, given, uses):
        own, preserve = method.object, "GC.@preserve operands " if uses else ""
        if own == "graph":
            call = f"    status = {preserve}LibSynfire.{method.function}("
            return [self.wrapped(call, [own, *given], ")", len(call)), "    status < 0 && fail(graph, status)"]
        call = f"    {preserve}check(LibSynfire.{method.function}("
        return [self.wrapped(call, [own, *given], "))", len(call))]

    @staticmethod
    def tuple_of(items):
        return f"({', '.join(items)}{',' if len(items) == 1 else ''})"

    # ---- All of it ---------------------------------------------------------------------------------------------------

    def exports(self):
        more = [made.julia for made in self.objects + self.makers]
        more += [method.julia for method in self.functions_of if method.julia not in BASE | BASE_QUESTIONS and not self.part(method)]
        exported = super().exports()
        return exported + [name for name in dict.fromkeys(more) if name not in {*exported, *self.exported}]

    def sections(self):
        return ([self.object_code(made) for made in self.objects] + [self.maker_code(maker) for maker in self.makers] +
                super().sections() +
                [self.function_code(method) for method in self.functions_of])
