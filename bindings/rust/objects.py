"""Objects and methods of the safe layer that no hand-written file has, from the marks in synfire.h (see generate.py).

An object that a context creates from a descriptor becomes a type with a builder, like Layer. What the descriptor needs
are the arguments of `builder`, as those of an operation's `new`; every other field has a setter. The object keeps the context, and the buffers and
objects that it was created with. A graph that records it keeps all of them. Dropping destroys it. A function of an
object becomes a method. All of it follows from the objects and methods of the model.

An operation that runs on an object is a method of that object too, without its name: `Synapse::forward`.
A text that a method gives is a String: the function is asked for its size first. An object that a method gives is a
part of the object that gave it: the parts of one object are held together, so that no call of one meets another.

A method holds what it uses as the hand-written ones do. One that takes numbers, names and lists may be called while
replays are in flight, but not while one is launched. One that takes buffers, other objects or a stream, and every
method of a buffer, holds all that it uses, shared with nobody. The stream is the context's own, and the method returns
when it is done. Buffers and graphs do not know their context, so theirs is an `unsafe` method `..._on` that takes a
stream.

SPDX-License-Identifier: MIT
"""
import re

from operations import BANNER, NAMED, PRELUDE, RESERVED, SCALARS, Generator, camel, fail, formatted

# Written by hand: objects with all of their life, and methods.
OBJECTS_BY_HAND = {"buffer", "layer", "graph"}
METHODS_BY_HAND = {
    "synfire_buffer_fill", "synfire_buffer_get_desc", "synfire_buffer_mark_written", "synfire_context_get_properties", "synfire_context_reclaim",
    "synfire_context_synchronize", "synfire_graph_get_last_operation", "synfire_graph_get_statistics",
    "synfire_graph_instantiate", "synfire_graph_launch", "synfire_graph_poll", "synfire_graph_rebind",
    "synfire_graph_reset_statistics", "synfire_graph_set_enabled", "synfire_graph_set_value", "synfire_graph_wait",
    "synfire_layer_get_desc", "synfire_layer_get_parameter", "synfire_layer_get_parameter_info", "synfire_layer_reset_state",
    "synfire_layer_set_n_active", "synfire_layer_set_parameter", "synfire_layer_set_parameters",
    "synfire_network_evaluate_stages", "synfire_network_infer_arrays", "synfire_network_load_arrays",
    "synfire_network_set_arrays", "synfire_network_train_stages"}

# A reference to one that was loaded as text is used wherever such a constant is.
LOADED = {"model", "surrogate"}

MODULE = "//! Objects and methods that follow from the C ABI alone. The types are at the root of the crate.\n"


def lines_of(*parts):
    return "".join(f"{part}\n" for part in parts if part)


class Method:
    """The code for a method's parameters: its Rust signature, and the parts of its body."""

    def __init__(self):
        self.generics, self.parameters, self.arguments = [], [], []
        self.before, self.held, self.more_held, self.kept = [], [], [], []  # statements; expressions; statements
        self.outputs, self.types = [], []
        self.has_stream = self.has_text = False
        self.measured, self.sized = {}, []  # what asks for the size of a text, by position; statements that follow


class Objects:
    def __init__(self, base):
        self.base, self.api = base, base.api
        base.file = "objects"
        known = {method.function for method in self.api.methods}
        if METHODS_BY_HAND - known:
            fail(f"no methods of the C ABI: {', '.join(sorted(METHODS_BY_HAND - known))}")
        self.objects = [o for o in self.api.objects if o.name not in OBJECTS_BY_HAND]
        self.fields = {made.name: base.described_by(made) for made in self.objects}
        self.types = {"context": "Context", "buffer": "Buffer", "graph": "Graph", **base.objects}
        self.methods, self.answers = [], {}
        for made in self.objects:
            name = base.objects[made.name]
            base.written.update({made.create: f"{name}Builder::create", made.destroy: f"{name}::close",
                                 made.desc: f"{name}Builder", made.handle: name})
            base.written.update({f"{made.desc}::{field.name}": f"{name}Builder::{field.name}"
                                 for field in self.fields[made.name]
                                 if base.has_setter(field, self.fields[made.name])})
        self.makers = self.api.makers
        self.maker_fields = {maker.name: base.described_by(maker) for maker in self.makers}
        for maker in self.makers:
            builder = f"{camel(maker.name)}Builder"
            base.written.update({maker.create: f"{builder}::create", maker.desc: builder})
            if maker.query_memory:
                base.written[maker.query_memory] = f"{builder}::query_memory"
            base.written.update({f"{maker.desc}::{field.name}": f"{builder}::{field.name}"
                                 for field in self.maker_fields[maker.name]
                                 if base.has_setter(field, self.maker_fields[maker.name])})
        taken = set(base.sources.methods) | {(base.objects[o.name], own) for o in self.objects
                                             for own in ("builder", "as_raw", "close")}
        self.run_names = {}
        for operation in base.operations:
            if operation.on in base.generated:
                of = self.types[operation.on]
                is_free = (of, operation.method) not in taken and operation.method not in RESERVED
                self.run_names[operation.name] = operation.method if is_free else operation.name
                taken.add((of, self.run_names[operation.name]))
        for method in self.api.methods:
            if method.function in METHODS_BY_HAND:
                continue
            if method.object not in self.types:
                fail(f"{method.function}: no Rust type for the object '{method.object}'")
            of, name = self.types[method.object], method.name
            short = name[4:] if name.startswith("get_") else name
            name = next((one for one in (short, name, short + "_") if (of, one) not in taken), name)
            name += "_" * (name in RESERVED)
            taken.add((of, name))
            base.written[method.function] = f"{of}::{name}"
            self.methods.append((name, method))
            for parameter in method.parameters:
                if parameter.role == "answer":
                    self.answer_type(parameter.target)
        # The constants of all parameters, before any text is written.
        for name, method in self.methods:
            self.method(name, method)
        self.answer_fields = {struct: [self.answer_field(struct, field) for field in self.api.struct[struct].given]
                              for struct in self.answers}

    # ---- Results -----------------------------------------------------------------------------------------------------

    def answer_type(self, struct):
        if struct not in self.answers:
            name = camel(struct[len("synfire_"):])
            taken = PRELUDE | set(self.types.values()) | self.base.sources.types
            self.answers[struct] = self.base.written[struct] = name + "Answer" if name in taken else name
        return self.answers[struct]

    def number(self, marks, kind):
        """The Rust type of a number, and how C's becomes one, and it C's."""
        if marks.one_of:
            name = self.base.values(marks.one_of)
            return name, f"{name}::from_raw({{}})", "{}.to_raw()"
        if marks.any_of:
            name = self.base.flags(marks.any_of)
            return name, f"{name}::from_raw({{}})", "{}.to_raw()"
        if marks.flag:
            return "bool", "{} != 0", "{}.into()"
        alias = next((alias.type for alias in self.api.aliases if alias.name == kind), kind)
        return (SCALARS[alias], "{}", "{}") if alias in SCALARS else (None, None, None)

    def answer_field(self, struct, field):
        """Name, type, how it is read from `c`, documentation."""
        name = field.name + "_" * (field.name in RESERVED)
        if field.type == "char" and field.array:
            return name, "String", f"text(c.{name}.as_ptr())", field
        if field.type == "const char *":
            return name, "String", f"text(c.{name})", field
        kind, read, _ = self.number(field, field.type)
        if kind is None:
            fail(f"{struct}: no Rust for the field '{field.name}' of the type '{field.type}'")
        if field.array:
            made = f"c.{name}" if read == "{}" else f"c.{name}.map(|value| {read.format('value')})"
            return name, f"[{kind}; {field.array}]", made, field
        return name, kind, read.format(f"c.{name}"), field

    def doc(self, field):
        doc = field.doc
        if field.flag:
            doc = re.sub(r"(^|\. )1:", r"\1`true`:", re.sub(r"\b0:", "`false`:", doc))
        return self.base.spell(doc) or f"`{field.name}`."

    def answer(self, struct):
        name, fields, comment = self.answers[struct], self.answer_fields[struct], self.base.comment
        has_text = any(kind == "String" for _, kind, _, _ in fields)
        doc = self.base.spell(self.api.struct[struct].doc) or f"What `{struct}` has."
        return (comment(doc, "") + f"#[derive(Clone, Debug, PartialEq)]\n#[non_exhaustive]\npub struct {name} {{\n"
                + "".join(comment(self.doc(field)) + f"    pub {own}: {kind},\n" for own, kind, _, field in fields)
                + f"}}\nimpl {name} {{\n"
                + ("    // The texts of `c` are null-terminated.\n    pub(crate) unsafe " if has_text else "    pub(crate) ")
                + f"fn from_c(c: &sys::{struct}) -> Self {{\n        {name} {{ "
                + ", ".join(own if read == own else f"{own}: {read}" for own, _, read, _ in fields) + " }\n    }\n}\n")

    # ---- Methods -----------------------------------------------------------------------------------------------------

    def use(self, out, kind, value, optional=False, many=False):
        """Holds a buffer or object for the call; a graph keeps it."""
        core = "buffer.core.held" if kind == "buffer" else "object.core.held"
        if kind in self.base.generated:
            each = "all_held(&*object.core)"
            if optional or many:
                out.more_held.append(f"held.extend({value}.iter().flat_map(|object| {each}));")
            else:
                out.more_held.append(f"held.extend(all_held(&*{value}.core));")
        elif optional or many:
            variable = core.split(".")[0]
            out.more_held.append(f"held.extend({value}.iter().map(|{variable}| &{core}));")
        else:
            out.held.append(f"&{value}.core.held")
        keep = {"buffer": "self.keep(&{}.core)", "layer": "self.keep_layer({})"}
        keep = keep.get(kind, "self.keep_object({}.core.clone())")
        out.kept.append(f"{value}.iter().for_each(|one| {keep.format('one')});" if optional or many
                        else keep.format(value) + ";")

    def type_of(self, out, kind):
        """The type of a reference to an object; each buffer has elements of its own."""
        if kind != "buffer":
            return self.types[kind]
        letter = chr(ord("A") + len(out.generics))
        out.generics.append(f"{letter}: Element")
        return f"Buffer<{letter}>"

    def list_parameter(self, out, method, name, parameter):
        kind, target, is_input, value = parameter.type, parameter.target, parameter.is_read, name
        if target in SCALARS:
            out.parameters.append(f"{name}: &{'' if is_input else 'mut '}[{SCALARS[target]}]")
        elif is_input and parameter.object in self.types and parameter.object != "context":
            handle = parameter.object
            out.parameters.append(f"{name}: &[&{self.type_of(out, handle)}]")
            raw = "as_raw()" if handle == "graph" else "core.raw"
            value = f"{name}_list"
            out.before.append(f"let {value}: Vec<_> = {name}.iter().map(|one| one.{raw}).collect();")
            if handle != "graph":
                self.use(out, handle, name, many=True)
        elif is_input and parameter.struct:
            value = self.list_of_structs(out, method, name, target)
        else:
            fail(f"{method.function}: no Rust for the list '{name}' of the type '{kind}'")
        pointer, null = (".as_ptr()", "null()") if is_input else (".as_mut_ptr()", "null_mut()")
        out.arguments.append(f"if {value}.is_empty() {{ {null} }} else {{ {value}{pointer} }}" if parameter.nullable
                             else f"{value}{pointer}")

    def list_of_structs(self, out, method, name, struct):
        """Structures of names, numbers, buffers and lists: a slice of tuples."""
        entries, types, values, names = self.api.struct[struct].fields, [], [], []
        for entry in entries:
            number, _, to_c = self.number(entry, entry.type)
            at = f"entry.{len(types)}"
            if entry.role == "text" and not entry.nullable:
                names.append(at)
                values.append(f"{entry.name}: name.as_ptr()")
                types.append("&str")
            elif entry.type == "synfire_buffer" and not entry.nullable:
                out.more_held.append(f"held.extend({name}.iter().map(|entry| &{at}.core.held));")
                out.kept.append(f"{name}.iter().for_each(|entry| self.keep(&{at}.core));")
                values.append(f"{entry.name}: {at}.core.raw")
                types.append(f"&{self.type_of(out, 'buffer')}")
            elif entry.role == "list" and entry.target in SCALARS and entry.is_read:
                values += [f"{entry.name}: {at}.as_ptr()",
                           f"{entry.length.name}: {at}.len() as {SCALARS[entry.length.type]}"]
                types.append(f"&[{SCALARS[entry.target]}]")
            elif entry.role == "length":
                continue
            elif number and not entry.array:
                values.append(f"{entry.name}: {to_c.format(at)}")
                types.append(number)
            else:
                fail(f"{method.function}: no Rust for the entry '{entry.name}' of '{name}'")
        if len(names) > 1:
            fail(f"{method.function}: entries of more than one name in '{name}'")
        out.parameters.append(f"{name}: &[({', '.join(types)}{',' if len(types) == 1 else ''})]")
        made = f"sys::{struct} {{ {', '.join(values)} }}"
        if names:
            out.before += [
                f"let {name}_names = {name}.iter().map(|entry| Name::new({names[0]})).collect::<Result<Vec<_>>>()?;",
                f"let {name}_list: Vec<_> = {name}_names.iter().zip({name}).map(|(name, entry)| {made}).collect();"]
        else:
            out.before.append(f"let {name}_list: Vec<_> = {name}.iter().map(|entry| {made}).collect();")
        return f"{name}_list"

    def analysed(self, method):
        out, string = Method(), ""
        for parameter in method.parameters:
            name = parameter.name + "_" * (parameter.name in RESERVED)
            role, kind, optional = parameter.role, parameter.type, parameter.nullable
            is_operation = method.object == "graph" and parameter.name == "operation"
            if role == "number":
                number, _, to_c = self.number(parameter, kind)
                number, to_c = ("Operation", "{}.0") if is_operation else (number, to_c)
                if parameter.one_of in LOADED:
                    number, to_c = f"impl Into<{number}>", f"{number}::to_raw({{}}.into())"
                if parameter.optional_nan:
                    number = f"impl Into<Option<{number}>>"
                    out.before.append(f"let {name} = {name}.into().unwrap_or(f64::NAN);")
                out.parameters.append(f"{name}: {number or fail(method.function + ': the type ' + kind)}")
                out.arguments.append(to_c.format(name))
            elif role == "text":
                out.parameters.append(f"{name}: {'Option<&str>' if optional else '&str'}")
                made = f"{name}.map(Name::new).transpose()?" if optional else f"Name::new({name})?"
                out.before.append(f"let {name} = {made};")
                out.arguments.append(f"{name}.as_ref().map_or(null(), Name::as_ptr)" if optional
                                     else f"{name}.as_ptr()")
            elif role == "object":
                handle = parameter.object
                if handle not in self.types:
                    fail(f"{method.function}: no Rust type for the object '{handle}'")
                of = self.type_of(out, handle)
                out.parameters.append(f"{name}: {f'Option<&{of}>' if optional else f'&{of}'}")
                raw = "as_raw()" if handle in ("context", "graph") else "core.raw"
                out.arguments.append(f"{name}.map_or(null_mut(), |one| one.{raw})" if optional else f"{name}.{raw}")
                if handle not in ("context", "graph"):
                    self.use(out, handle, name, optional)
            elif role == "stream":
                out.has_stream = True
                out.arguments.append("stream" if method.object in ("buffer", "graph") else "null_mut()")
            elif role == "list":
                self.list_parameter(out, method, name, parameter)
            elif role == "length":
                listed = parameter.length_of + "_" * (parameter.length_of in RESERVED)
                out.arguments.append(f"{listed}.len() as {SCALARS[kind]}")
            elif role == "string":
                string = name
                out.before.append(f"let mut {name} = Vec::<u8>::new();")
                out.measured[len(out.arguments)] = "null_mut()"
                out.arguments.append(f"{name}.as_mut_ptr().cast()")
            elif role == "capacity":
                out.measured[len(out.arguments)] = "0"
                out.arguments.append(f"{string}.len() as u64")
            elif role == "size":
                out.before.append(f"let mut {name} = 0u64;")
                out.arguments.append(f"&mut {name}")
                out.sized.append(f"{string}.resize({name} as usize + 1, 0);")
                out.types.append("String")
                whole = f"{string}.split(|byte| *byte == 0).next().unwrap_or_default()"
                out.outputs.append(f"String::from_utf8_lossy({whole}).into_owned()")
            elif role == "part":
                of = self.type_of(out, parameter.object)
                out.before.append(f"let mut {name} = null_mut();")
                out.arguments.append(f"&mut {name}")
                out.types.append(of)
                out.outputs.append(f"{of.split('<')[0]}::from_part({name}, self.core.part_of())?")
            elif role == "result":
                target = parameter.target
                number, read, _ = self.number(parameter, target)
                number, read = ("Operation", "Operation({})") if is_operation else (number, read)
                out.before.append(f"let mut {name} = {'0.0' if target in ('float', 'double') else '0'};")
                out.arguments.append(f"&mut {name}")
                out.types.append(number)
                out.outputs.append(read.format(name))
            else:
                struct = parameter.target
                of = self.answer_type(struct)
                out.before += ["// SAFETY: zeros plus the size is how C initialises it.",
                               f"let mut {name}: sys::{struct} = unsafe {{ zeroed() }};",
                               f"{name}.struct_size = size_of::<sys::{struct}>() as u32;"]
                out.arguments.append(f"&mut {name}")
                out.types.append(of)
                has_text = any(field.role == "text" or (field.type == "char" and field.array)
                               for field in parameter.struct.fields)
                made = f"{of}::from_c(&{name})"
                out.outputs.append(f"unsafe {{ {made} }}" if has_text else made)
                out.has_text |= has_text
        return out

    def method(self, name, method):
        out, handle = self.analysed(method), method.object
        raw = {"context": "self.raw", "graph": "self.as_raw()"}.get(handle, "self.core.raw")
        call = f"unsafe {{ sys::{method.function}({', '.join([raw] + out.arguments)}) }}"
        if out.measured:
            asked = [out.measured.get(i, argument) for i, argument in enumerate(out.arguments)]
            call = "\n".join([f"{{ match unsafe {{ sys::{method.function}({', '.join([raw] + asked)}) }} {{",
                              "status if status < 0 => status,", "_ => {", *out.sized, "// SAFETY: as above.", call, "}}}"])
        on_stream = out.has_stream and handle in ("buffer", "graph")
        waits = out.has_stream and not on_stream
        returned = out.types[0] if len(out.types) == 1 else f"({', '.join(out.types)})"
        value = out.outputs[0] if len(out.outputs) == 1 else f"({', '.join(out.outputs)})"
        answer = ["// SAFETY: texts of the library are null-terminated."] * out.has_text + [f"Ok({value})"]
        if value.endswith(")?") and len(out.outputs) == 1:
            answer = [value[:-1]]
        safety = "// SAFETY: live handles; what is pointed to lives for the call."
        is_shared = handle != "graph" or bool(out.measured) or method.name.startswith(("get_", "query"))
        shared = bool(out.held or out.more_held or out.has_stream or handle == "buffer")

        own = {"context": [], "graph": []}.get(handle, ["&self.core.held"])
        gather, held = [], f"[{', '.join(own + out.held)}]"
        if handle in self.base.generated and shared:
            gather = ["let mut held = all_held(&*self.core);"]
            gather += [f"held.extend([{', '.join(out.held)}]);"] if out.held else []
        elif out.more_held:
            gather = [f"let mut held: Vec<&Held> = vec!{held};"]
        if gather:
            gather += out.more_held
            held = "held"

        body = list(out.before)
        if waits:
            now = "self.now" if handle in ("context", "layer") else "self.core.now"
            body += gather + [safety, f"{now}({held}, || {call})" + ("?;" if out.outputs else "")]
            body += answer if out.outputs else []
        elif handle == "graph":
            body += gather + ([f"let _held = hold_all({held})?;"] if out.held or gather else [])
            body += [safety, f"let status = {call};"]
            if is_shared or not out.kept:
                body += ["self.checked(status)" + ("?;" if out.outputs else ".map(drop)")]
                body += answer if out.outputs else []
            else:
                body += ["self.checked(status)?;", *out.kept, *answer]
        elif shared:
            body += gather + [f"let _held = hold_all({held})?;", safety]
            body += [f"check({call})?;", *answer] if out.outputs else [f"check({call}).map(drop)"]
        elif handle == "context":
            body += [safety] + ([f"check({call})?;", *answer] if out.outputs else [f"check({call}).map(drop)"])
        elif out.outputs:
            body += ["self.core.held.between_launches(|| {", safety, f"check({call})?;", *answer, "})"]
        else:
            body += [safety, f"self.core.held.between_launches(|| check({call}).map(drop))"]

        doc = self.base.comment(self.base.spell(method.doc) + (" Returns when it is done." if waits else ""))
        if on_stream:
            doc += "    ///\n    /// # Safety\n    ///\n" + self.base.comment(
                "`stream` is null, which stands for the context's own stream, or a live CUDA stream of the same "
                "device. Nothing else uses what the call uses until the stream is done with it.")
            out.parameters.append("stream: Stream")
        if method.doc == "":
            doc = self.base.comment(f"Calls `{method.function}`.")
        generics = f"<{', '.join(out.generics)}>" if out.generics else ""
        receiver = "&self" if is_shared else "&mut self"
        if len(out.parameters) > 6:
            doc += "    #[allow(clippy::too_many_arguments)]\n"
        return (doc + f"    pub {'unsafe ' if on_stream else ''}fn {name}{'_on' if on_stream else ''}{generics}"
                f"({', '.join([receiver] + out.parameters)}) -> Result<{returned if out.types else '()'}> {{\n"
                + lines_of(*body) + "    }\n")

    def run(self, operation):
        """The short form of an operation that runs on an object."""
        of, name = self.base.types[operation.name], self.run_names[operation.name]
        doc = self.api.function[operation.run].doc
        doc = re.sub(r": the same operation that \w+\(\) records", "", doc).rstrip(".")
        lifetime = "<'_>" if any("'a" in field.type for field in self.base.fields[operation.name]) else ""
        return (self.base.comment(f"{self.base.spell(doc)}, as {self.base.link(of + '::run')}.")
                + f"    pub fn {name}(&self, {name}: {of}{lifetime}) -> Result<()> {{\n        {name}.run(self)\n    }}\n")

    # ---- Objects -----------------------------------------------------------------------------------------------------

    def made(self, made, methods, uses_now):
        base, comment = self.base, self.base.comment
        name, fields, handle = base.objects[made.name], self.fields[made.name], f"sys::{made.handle}"
        has_parts, is_part = made.name in self.api.wholes, made.name in self.api.parts
        keeps_context = uses_now or has_parts
        stored = [field for field in fields if field.kind != "length"]
        lifetime = "'a" if any("'a" in field.type for field in stored) else ""
        generics = f"<{lifetime}>" if lifetime else ""
        copied = "" if any(field.kind in ("buffers", "structs") for field in stored) else "Copy, "
        builder, context = f"{name}Builder", "context" if keeps_context else "_context"
        statements, arguments, _ = base.temporaries(fields)
        objects = [field for field in fields if field.kind == "object"]
        held, gathered = base.held(made, fields, None)
        has_buffers = any(one.kind in ("buffer", "buffers") for field in fields
                          for one in (field, *(field.entries if field.kind == "structs" else ())))
        if base.buffers(fields):
            buffers = "self.buffers().cloned().collect()"
        else:
            buffers = f"vec![{', '.join(f'self.{f.name}.clone()' for f in fields if f.kind == 'buffer')}]"
        needed = ", ".join(f"self.{field.name}.core.clone()" for field in objects if not field.optional)
        optional = [f"objects.extend(self.{field.name}.map(|one| one.core.clone() as Arc<dyn Object>));"
                    for field in objects if field.optional]
        create = lines_of(
            *statements, f"let desc = self.desc({', '.join(arguments)});", gathered.rstrip(),
            f"let _held = hold_all({held})?;" if has_buffers or objects else "",
            f"let {'mut ' if optional else ''}objects: Vec<Arc<dyn Object>> = vec![{needed}];" if objects else "",
            *optional, "let mut raw = null_mut();",
            "// SAFETY: live handles; the descriptor lives for the call.",
            f"check(unsafe {{ sys::{made.create}(context.raw, &desc, &mut raw) }})?;", "born();",
            f"let core = {name}Core {{ raw, held: Held::default(), {context}: context.handle.clone(), "
            + ("on_host: context.on_host, " if keeps_context else "")
            + (f"buffers: {buffers}, " if has_buffers else "") + ("objects " if objects else "") + "};",
            f"Ok({name} {{ core: Arc::new(core) }})")
        doc = base.spell(made.doc).rstrip(".") + "."
        kept = " and ".join(["its context"] + ["what it was created with"] * bool(has_buffers or objects))
        is_recorded = any(operation.object == made.name for operation in base.operations)
        doc += f" Graphs that use it keep it alive, and it keeps {kept}." if is_recorded else f" It keeps {kept}."
        out = [comment(doc, ""),
               f"pub struct {name} {{\n    pub(crate) core: Arc<{name}Core>,\n}}\n",
               f"impl fmt::Debug for {name} {{\n    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {{\n"
               f"        write!(f, \"{name} at {{:?}}\", self.core.raw)\n    }}\n}}\n",
               comment(f"Options for [`{name}`]; each has the library's default.", ""),
               f"#[derive(Clone, {copied}Debug)]\n#[must_use]\npub struct {builder}{generics} {{\n"]
        out += [f"    {field.name}: {f'Option<{field.type}>' if field.optional else field.type},\n" for field in stored]
        out.append(f"}}\nimpl{generics} {builder}{generics} {{\n")
        out += base.setters(fields)
        out.append(comment("Creates it.")
                   + f"    pub fn create(self, context: &Context) -> Result<{name}> {{\n{create}    }}\n")
        if base.buffers(fields):
            out.append("    fn buffers(&self) -> impl Iterator<Item = &'a Arc<BufferCore>> + '_ {\n"
                       f"{base.buffers(fields)}\n    }}\n")
        out += [base.list_of_structs(field, "") for field in fields if field.kind == "structs"]
        out += [base.descriptor(made, fields, "pub(crate) "), f"}}\nimpl {name} {{\n",
                base.new(builder, fields, "builder", lifetime),
                comment("The C handle, for [`sys`](crate::sys); it is good for as long as the object is."),
                f"    pub fn as_raw(&self) -> {handle} {{\n        self.core.raw\n    }}\n",
                comment("Closes it now; dropping does the same."), "    pub fn close(self) {}\n", *methods, "}\n",
                f"pub(crate) struct {name}Core {{\n    pub(crate) raw: {handle},\n    pub(crate) held: Held,\n",
                f"    {'pub(crate) ' * has_parts}{context}: Arc<ContextHandle>,\n",
                f"    {'pub(crate) ' * has_parts}on_host: bool,\n" if keeps_context else "",
                "    buffers: Vec<Arc<BufferCore>>,\n" if has_buffers else "",
                "    pub(crate) objects: Vec<Arc<dyn Object>>,\n" if objects else "", "}\n",
                "// SAFETY: the C library wants one call at a time per object, which `held` sees to.\n",
                f"unsafe impl Send for {name}Core {{}}\nunsafe impl Sync for {name}Core {{}}\n",
                f"impl Object for {name}Core {{\n    fn held(&self) -> &Held {{\n        &self.held\n    }}\n",
                "    fn buffers(&self) -> &[Arc<BufferCore>] {\n        &self.buffers\n    }\n" if has_buffers else "",
                "    fn objects(&self) -> &[Arc<dyn Object>] {\n        &self.objects\n    }\n" if objects else "",
                "}\n"]
        if has_parts:
            out.append(f"impl {name}Core {{\n    pub(crate) fn part_of(&self) -> PartOf<'_> {{\n"
                       "        PartOf { held: &self.held, context: &self.context, on_host: self.on_host }\n"
                       "    }\n}\n")
        if is_part:
            own = ["raw", "held: of.held.clone()", f"{context}: of.context.clone()"]
            own += ["on_host: of.on_host"] * keeps_context + ["buffers: vec![]"] * bool(has_buffers)
            own += ["objects: vec![]"] * bool(objects)
            out.append(f"impl {name} {{\n    // Takes over a handle that another object gave.\n"
                       f"    fn from_part(raw: {handle}, of: PartOf<'_>) -> Result<Self> {{\n        born();\n"
                       f"        Ok({name} {{ core: Arc::new({name}Core {{ {', '.join(own)} }}) }})\n    }}\n}}\n")
        if uses_now:
            out.append(f"impl {name}Core {{\n    // Calls while these are held, and waits for it.\n"
                       "    pub(crate) fn now<'h>(&self, held: impl AsRef<[&'h Held]>, call: impl FnOnce() -> i32) "
                       "-> Result<()> {\n"
                       "        let _held = hold_all(held)?;\n        check(call())?;\n        if self.on_host {\n"
                       "            return Ok(());\n        }\n"
                       "        // SAFETY: the object keeps the context's handle alive.\n"
                       "        check(unsafe { sys::synfire_context_synchronize(self.context.0) }).map(drop)\n"
                       "    }\n}\n")
        out.append(f"impl Drop for {name}Core {{\n    fn drop(&mut self) {{\n"
                   "        // SAFETY: our own handle, destroyed once.\n"
                   f"        unsafe {{ sys::{made.destroy}(self.raw) }};\n        gone();\n    }}\n}}\n")
        return "".join(out)

    def maker(self, maker, uses_now):
        """Another builder of an object, of numbers and lists, and the function of the object that begins it."""
        base, comment = self.base, self.base.comment
        name, fields = base.objects[maker.object], self.maker_fields[maker.name]
        builder = f"{camel(maker.name)}Builder"
        stored = [field for field in fields if field.kind != "length"]
        lifetime = "'a" if any("'a" in field.type for field in stored) else ""
        generics = f"<{lifetime}>" if lifetime else ""
        keeps_context = uses_now or maker.object in self.api.wholes
        context = "context" if keeps_context else "_context"
        create = lines_of(
            "let desc = self.desc();", "let mut raw = null_mut();",
            "// SAFETY: live handles; the descriptor lives for the call.",
            f"check(unsafe {{ sys::{maker.create}(context.raw, &desc, &mut raw) }})?;", "born();",
            f"let core = {name}Core {{ raw, held: Held::default(), {context}: context.handle.clone(), "
            + ("on_host: context.on_host " if keeps_context else "") + "};",
            f"Ok({name} {{ core: Arc::new(core) }})")
        doc = base.spell(base.api.struct[maker.desc].doc).split(" Zero ")[0]
        out = [comment(f"Options for [`{name}::{maker.name}`]; each has the library's default. {doc}", ""),
               f"#[derive(Clone, Copy, Debug)]\n#[must_use]\npub struct {builder}{generics} {{\n"]
        out += [f"    {field.name}: {f'Option<{field.type}>' if field.optional else field.type},\n" for field in stored]
        out.append(f"}}\nimpl{generics} {builder}{generics} {{\n")
        out += base.setters(fields)
        out.append(comment("Creates it.")
                   + f"    pub fn create(self, context: &Context) -> Result<{name}> {{\n{create}    }}\n")
        if maker.query_memory:
            memory = camel(maker.memory[len("synfire_"):])  # written by hand, with the fields of the structure
            values = ", ".join(f"{field.name}: memory.{field.name}" for field in self.api.struct[maker.memory].given)
            out.append(comment("Bytes it will take.") +
                       f"    pub fn query_memory(&self) -> Result<crate::{memory}> {{\n        crate::error::loaded()?;\n"
                       "        // SAFETY: zeros plus the size is how C initialises it.\n"
                       f"        let mut memory: sys::{maker.memory} = unsafe {{ zeroed() }};\n"
                       f"        memory.struct_size = size_of::<sys::{maker.memory}>() as u32;\n"
                       "        // SAFETY: the descriptor lives for the call.\n"
                       f"        check(unsafe {{ sys::{maker.query_memory}(&self.desc(), &mut memory) }})?;\n"
                       f"        Ok(crate::{memory} {{ {values} }})\n    }}\n")
        out += [base.descriptor(maker, fields, "pub(crate) "), f"}}\nimpl {name} {{\n",
                base.new(builder, fields, maker.name, lifetime), "}\n"]
        return "".join(out)

    # ---- Text --------------------------------------------------------------------------------------------------------

    def body(self):
        text = self.base.enumerations("objects")
        runs = {operation.on for operation in self.base.operations}
        methods = {}
        for name, method in self.methods:
            methods.setdefault(method.object, []).append(self.method(name, method))
        for made in self.objects:
            own = [self.run(operation) for operation in self.base.operations if operation.on == made.name]
            own += methods.get(made.name, [])
            uses_now = made.name in runs or any("self.core.now(" in one for one in own)
            text += "\n" + self.made(made, own, uses_now)
            text += "".join("\n" + self.maker(maker, uses_now) for maker in self.makers if maker.object == made.name)
        for handle, own in methods.items():
            if handle not in self.base.generated:
                head = "impl<T: Element> Buffer<T>" if handle == "buffer" else f"impl {self.types[handle]}"
                text += f"\n{head} {{\n{''.join(own)}}}\n"
        text += "".join("\n" + self.answer(struct) for struct in self.answers)
        if any("String" == kind for fields in self.answer_fields.values() for _, kind, _, _ in fields):
            text += ("\n// A null-terminated text; null is an empty one.\n"
                     "unsafe fn text(c: *const std::os::raw::c_char) -> String {\n"
                     "    if c.is_null() {\n        return String::new();\n    }\n"
                     "    CStr::from_ptr(c).to_string_lossy().into_owned()\n}\n")
        if "all_held(" in text + self.base.body():
            text += ("\n// Returns all that a call holds while it uses an object: the object, and what it was created with.\n"
                     "pub(crate) fn all_held(object: &dyn Object) -> Vec<&Held> {\n"
                     "    let mut held = vec![object.held()];\n"
                     "    held.extend(object.buffers().iter().map(|core| &core.held));\n"
                     "    held.extend(object.objects().iter().flat_map(|one| all_held(&**one)));\n    held\n}\n")
        return text

    def text(self):
        base = self.base
        own = base.own("objects") + [base.objects[made.name] for made in self.objects] + list(self.answers.values())
        own += [f"{base.objects[made.name]}Builder" for made in self.objects]
        own += [f"{camel(maker.name)}Builder" for maker in self.makers]
        other = base.own("operations")
        values = [name for name in sorted(set(base.groups.values())) if name not in own]
        imports = [("crate::buffer", ["Buffer", "Core as BufferCore", "Element"]),
                   ("crate::context", ["born", "gone", "Context", "ContextHandle"]),
                   ("crate::error", ["check", "Name", "Result"]), ("crate::graph", ["Graph", "Operation", "Stream"]),
                   ("crate::held", ["hold_all", "Held", "Object", "PartOf"]), ("crate::layer", ["Layer"]),
                   ("crate::shape", sorted(NAMED.values())), ("crate::operations", [*(base.types[name] for name in self.run_names), *(name for name in values if name in other)]),
                   ("crate", [name for name in values if name not in other]), ("std", ["fmt"]), ("std::ffi", ["CStr"]),
                   ("std::mem", ["size_of", "zeroed"]), ("std::ptr", ["null", "null_mut"]), ("std::sync", ["Arc"])]
        return MODULE + BANNER + base.with_imports(own, imports, self.body)


def safe_layer(api, texts, settings):
    """The text of each generated file of the crate; `texts` are the files by hand."""
    base = Generator(api, texts)
    objects = Objects(base)
    files = {"operations.rs": base.text(), "objects.rs": objects.text()}
    return {name: formatted(name, text, settings) for name, text in files.items()}
