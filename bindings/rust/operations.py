"""The operations of the safe layer: one builder for each, written from the marks in synfire.h (see generate.py).

A descriptor becomes a type. The buffers, layers and names that it needs are the arguments of `new`; every other field has a
setter. `record` appends the operation to a graph, which keeps the buffers and layers; `run`, where C has an immediate call,
holds them until it is done. All of it follows from `operations` in bindings/api/synfire.json.

Three things are written by hand. Native nodes take a function of the program (native.rs). `record` and `run` of a forward
and a backward are in pass.rs: which tape a forward leaves and a backward reads is known to no mark. So are the setters of
theirs that are in SPELLED.

SPDX-License-Identifier: MIT
"""
import re
import subprocess
import sys
import textwrap

SCALARS = {"int32_t": "i32", "uint32_t": "u32", "int64_t": "i64", "uint64_t": "u64", "float": "f32", "double": "f64"}
PRELUDE = {"Box", "Clone", "Copy", "Drop", "Eq", "Err", "Fn", "Into", "Iterator", "None", "Ok", "Option", "Ord", "Result",
           "Send", "Some", "String", "Sync", "Vec"}
TAPED = {"forward", "backward"}
# Fields whose setters are in pass.rs.
SPELLED = {("forward", "in_place"), ("backward", "in_place"), ("backward", "forward"),
           ("backward", "parameter_gradients"), ("backward", "add_parameter_gradients")}
ACCESS = {"read": "Read", "written": "Written", "updated": "Read and written"}

MODULE = """\
//! Every operation of a graph as a type of its own: filled in, then recorded, or run at once.
//!
//! `new` takes the buffers, layers and names that the operation needs; everything else has a default and a setter. `record`
//! appends the operation to a graph, which keeps its buffers and layers alive. `run` holds them until it is done: meanwhile
//! mapping or launching them elsewhere is an error of [`Status::Busy`](crate::Status::Busy).
//!
//! ```
//! use synfire::operations::CountSpikes;
//! use synfire::{Backend, Buffer, Context, Count, DType, Graph, Memory, Wait};
//!
//! let context = Context::builder().backend(Backend::Host).create()?;
//! let spikes = Buffer::from_array(&context, Memory::Pinned, &[[1u8, 0, 1], [0, 0, 1]])?;
//! let counts = Buffer::<u32>::with_dtype(&context, Memory::Pinned, DType::U32, 3)?;
//! let count = CountSpikes::new(&spikes, &counts).kind(Count::PerNeuron).n_steps(2).n_neurons(3);
//! count.run(&context)?; // now
//! assert_eq!(counts.to_vec()?, [1, 0, 2]);
//! let mut graph = Graph::record(&context, |graph| count.record(graph))?; // in each replay
//! let ticket = graph.launch()?;
//! assert!(graph.wait(ticket, Wait::Spin, None)?);
//! # Ok::<(), synfire::Error>(())
//! ```
//!
//! An operation borrows what it is made of until it is recorded or run:
//!
//! ```compile_fail,E0505
//! use synfire::{operations::Fill, Buffer, Graph, Operation, Result};
//! fn fill(graph: &mut Graph, buffer: Buffer<f32>) -> Result<Operation> {
//!     let fill = Fill::new(&buffer);
//!     buffer.close();
//!     fill.record(graph)
//! }
//! ```
//!
//! The methods of [`Graph`], [`Context`] and [`Layer`] that record and run operations are short forms of these.
"""


def fail(message):
    sys.exit(f"generate.py: {message}")


def camel(name):
    return "".join(part.capitalize() for part in name.split("_"))


class Sources:
    """What the hand-written files define: the values of C under their Rust names, and the methods of each type."""

    def __init__(self, texts):
        self.values, self.methods = {}, set()
        for text in texts:
            for block in re.finditer(r"^(?:crate::values::)?values! \{\n(.*?)^\}", text, re.S | re.M):
                name = re.search(r"^    (\w+) \{$", block[1], re.M)[1]
                for item, constant in re.findall(r"^ +(\w+) = (SYNFIRE_\w+),$", block[1], re.M):
                    self.values[constant] = f"{name}::{item}"
            for block in re.finditer(r"^impl(?:<[^\n]*?>)? (\w+)[^\n]*\{\n(.*?)^\}", text, re.S | re.M):
                self.methods |= {(block[1], method) for method in re.findall(r"^    pub fn (\w+)", block[2], re.M)}


class Field:
    """A field of a descriptor: its Rust type, and how it gets into the descriptor."""

    def __init__(self, json, kind, type, optional=False):
        self.name, self.json, self.kind, self.type, self.optional = json["name"], json, kind, type, optional
        self.doc = json["doc"]

    @property
    def is_argument(self):
        return self.kind in ("buffer", "layer", "string") and not self.optional


class Generator:
    def __init__(self, api, texts):
        self.api, self.sources = api, Sources(texts)
        self.structs = {struct["name"]: struct for struct in api["structs"]}
        self.operations = [o for o in api["operations"] if not any(self.is_callback(f["type"]) for f in o["fields"])]
        self.types = {}
        for operation in self.operations:
            name = camel(operation["name"])
            self.types[operation["name"]] = name + "Buffer" if name in PRELUDE else name
        self.groups, self.new_values, self.new_flags, self.local = {}, {}, {}, []
        for constant in api["constants"]:
            known = self.sources.values.get(constant["name"])
            if known:
                self.groups[constant["group"]] = known.split("::")[0]
        self.fields = {o["name"]: [self.field(f, o) for f in o["fields"]] for o in self.operations}

    def is_callback(self, kind):
        return any(callback["name"] == kind for callback in self.api["callbacks"])

    def constants(self, group):
        found = [constant for constant in self.api["constants"] if constant["group"] == group]
        return found or fail(f"no constants of the group '{group}'")

    @staticmethod
    def item(constant):
        return constant["name"][len(f"SYNFIRE_{constant['group']}_"):]

    # ---- Fields ------------------------------------------------------------------------------------------------------

    def values(self, group):
        """The enumeration of a group of constants; one that no hand-written file has is written here."""
        if group not in self.groups:
            self.groups[group] = camel(group)
            self.new_values[group] = [(camel(self.item(c)), c) for c in self.constants(group)]
            self.sources.values.update((c["name"], f"{camel(group)}::{item}") for item, c in self.new_values[group])
        return self.groups[group]

    def flags(self, group):
        if group not in self.groups:
            self.groups[group] = camel(group) + "s"
            self.new_flags[group] = [(self.item(c), c) for c in self.constants(group)]
            self.sources.values.update((c["name"], f"{self.groups[group]}::{item}") for item, c in self.new_flags[group])
        return self.groups[group]

    def field(self, json, operation):
        kind, optional = json["type"], json["nullable"]
        length = next((f for f in operation["fields"] if f.get("length_of") == json["name"]), None)
        if "length_of" in json:
            return Field(json, "length", SCALARS[kind])
        if length and kind == "const synfire_buffer *":
            return Field(json, "buffers", "Vec<&'a Arc<BufferCore>>")
        if length and kind.startswith("const ") and kind[6:-2] in self.structs:
            field = Field(json, "structs", "")
            field.entries = [self.field(f, {"fields": []}) for f in self.structs[kind[6:-2]]["fields"]]
            if any(entry.kind not in ("string", "buffer", "number") or entry.optional for entry in field.entries):
                fail(f"entries of {kind} must be names, buffers and numbers")
            owned = ["String" if entry.kind == "string" else entry.type for entry in field.entries]
            field.type, field.struct = f"Vec<({', '.join(owned)})>", kind[6:-2]
            return field
        if length and kind.startswith("const ") and kind[6:-2] in SCALARS:
            return Field(json, "slice", f"&'a [{SCALARS[kind[6:-2]]}]")
        if kind == "synfire_buffer":
            return Field(json, "buffer", "&'a Arc<BufferCore>", optional)
        if kind == "synfire_layer":
            return Field(json, "layer", "&'a Layer", optional)
        if kind == "const char *":
            return Field(json, "string", "&'a str", optional)
        if "one_of" in json:
            return Field(json, "value", self.values(json["one_of"]))
        if "any_of" in json:
            return Field(json, "flags", self.flags(json["any_of"]))
        if json.get("flag"):
            return Field(json, "flag", "bool")
        if kind in SCALARS:
            number = SCALARS[kind]
            return Field(json, "number", f"[{number}; {json['array']}]" if json["array"] else number)
        return fail(f"{operation['name']}: no Rust for the field '{json['name']}' of the type '{kind}'")

    def initial(self, field):
        if field.is_argument:
            return f"&{field.name}.core" if field.kind == "buffer" else field.name
        if field.optional:
            return "None"
        if field.kind in ("buffers", "structs"):
            return "Vec::new()"
        if field.kind == "value":
            zero = next((c for c in self.constants(field.json["one_of"]) if c["value"] == 0), None)
            return self.sources.values[zero["name"]] if zero else f"{field.type}::from_raw(0)"
        if field.kind == "flags":
            return f"{field.type}::default()"
        if field.json["array"]:
            return f"[0{'.0' if 'f' in field.type else ''}; {field.json['array']}]"
        return {"slice": "&[]", "flag": "false"}.get(field.kind) or ("0.0" if field.type in ("f32", "f64") else "0")

    def described(self, field, fields):
        """The value in the descriptor."""
        own = f"self.{field.name}"
        if field.kind == "length":
            listed = next(f for f in fields if f.name == field.json["length_of"])
            length = f"{f'self.{listed.name}' if listed.kind == 'slice' else listed.name}.len()"
            return length + " as " + field.type
        if field.kind in ("buffer", "layer"):
            raw = "raw" if field.kind == "buffer" else "core.raw"
            variable = "core" if field.kind == "buffer" else "layer"
            return f"{own}.map_or(null_mut(), |{variable}| {variable}.{raw})" if field.optional else f"{own}.{raw}"
        if field.kind == "string":
            return f"{field.name}.map_or(null(), Name::as_ptr)" if field.optional else f"{field.name}.as_ptr()"
        if field.kind in ("buffers", "structs", "slice"):
            listed = own if field.kind == "slice" else field.name
            return f"if {listed}.is_empty() {{ null() }} else {{ {listed}.as_ptr() }}"
        if field.kind in ("value", "flags"):
            return f"{own}.to_raw()"
        return f"{own}.into()" if field.kind == "flag" else own

    # ---- Documentation -----------------------------------------------------------------------------------------------

    def spell(self, text):
        """C's references as Rust's; words that do not fit Rust are replaced."""
        def constant(match):
            known = self.sources.values.get(match[1])
            return self.link(known) if known else f"`{match[1]}`"

        def group(match):
            name = self.groups.get(match[1].lower())
            return self.link(name) if name else match[0]

        def function(match):
            for operation in self.operations:
                for key, method in (("record", "record"), ("run", "run")):
                    if operation[key] == match[1]:
                        return f"[`{self.types[operation['name']]}::{method}`]"
            for handle in ("context", "layer", "buffer", "graph"):
                method = match[1].replace(f"synfire_{handle}_", "")
                if (handle.capitalize(), method) in self.sources.methods:
                    return self.link(f"{handle.capitalize()}::{method}")
            return f"`{match[0]}`"

        def described(match):
            of = [operation for operation in self.operations if operation["desc"] == match[1]]
            if not of:
                return f"`{match[0].lstrip(':')}`"
            name, field = self.types[of[0]["name"]], match[2]
            if not field:
                return f"[`{name}`]"
            own = next(f for f in self.fields[of[0]["name"]] if f.name == field)
            is_setter = not own.is_argument and (of[0]["name"], field) not in SPELLED
            return f"[`{name}::{field}`]" if is_setter else f"`{field}` of [`{name}`]"

        parts = re.split(r"(`[^`]*`)", text)
        for i, part in enumerate(parts):
            if i % 2:
                parts[i] = re.sub(r"^`SYNFIRE_(\w+)_\*`$", group, re.sub(r"^`desc\.", "`", part))
                continue
            part = re.sub(r"\[[^\]]*\]", lambda match: f"`{match[0]}`", part)
            part = re.sub(r"::(SYNFIRE_\w+)", constant, part)
            part = re.sub(r"(?:::)?\b(synfire_\w+_desc)\b(?:::(\w+))?", described, part)
            part = re.sub(r"\b(synfire_\w+)\(\)", function, part)
            part = part.replace("Null (default)", "Without (default)").replace("both null", "neither")
            part = part.replace("A null input gradient", "An input gradient that is not given")
            parts[i] = part.replace("Null:", "Without:").replace("a buffer of f32 ", "f32 ")
        return "".join(parts).strip()

    def link(self, name):
        """Where a name is, is left out where the file has it."""
        return f"[`{name}`]" if name.split("::")[0] in self.local else f"[`{name}`](crate::{name})"

    def field_doc(self, field):
        doc = field.doc
        if field.kind == "flag":
            doc = re.sub(r"\b0 \(default\):", "`false` (default):", doc)
            doc = re.sub(r"\bDefault 0:", "`false` (default):", re.sub(r"(^|\. )1:", r"\1`true`:", doc))
        if field.kind == "flags":
            doc = doc.replace(", added up", ", combined with `|`")
        doc = re.sub(r" ?\bOptional\.", "", re.sub(r"\bOptional; (\w)", lambda match: match[1].upper(), self.spell(doc))).strip()
        shape = field.json.get("shape", "any")
        shape = "" if shape == "any" else self.spell(shape)
        if "access" in field.json and doc == "What the function says.":
            return f"{ACCESS[field.json['access']]}{', ' + shape if shape else ''}."
        if shape and not all(one in doc for one in re.findall(r"`[^`]*`", shape)):
            doc += f" Its shape: {shape}."
        return doc or field.name

    def type_doc(self, operation):
        shared = sum(other["desc"] == operation["desc"] for other in self.operations) > 1
        doc = self.structs[operation["desc"]]["doc"]
        if shared:
            doc = re.sub(r"; as synfire_\w+\(\)", "", operation["doc"])
        doc = doc.replace("Buffers marked optional may be null. ", "")
        match = re.match(r"Appends (a|an|one|the) ", doc)
        return self.spell(match[1].capitalize() + doc[match.end() - 1:] if match else doc)

    # ---- Text --------------------------------------------------------------------------------------------------------

    @staticmethod
    def comment(text, indent="    ", bullet=""):
        width = 117 - len(indent)
        lines = textwrap.wrap(text, width, initial_indent=bullet, subsequent_indent=" " * len(bullet),
                              break_long_words=False, break_on_hyphens=False)
        return "".join(f"{indent}/// {line}\n" for line in lines)

    @staticmethod
    def letters(fields):
        """A type parameter for each buffer."""
        buffers = [field.name for field in fields if field.kind == "buffer"]
        initials = [name[0].upper() for name in buffers]
        if len(buffers) == 1:
            initials = ["T"]
        elif len(set(initials)) < len(initials):
            initials = [chr(ord("A") + i) for i in range(len(buffers))]
        return dict(zip(buffers, initials))

    def signature(self, fields):
        """The generics and parameters of a function that takes these."""
        letters = self.letters(fields)
        generics = ", ".join(f"{letter}: Element" for letter in letters.values())
        parameters = [f"{f.name}: &'a Buffer<{letters[f.name]}>" if f.kind == "buffer" else f"{f.name}: {f.type}"
                      for f in fields]
        return f"<{generics}>" if generics else "", parameters

    def new(self, name, fields):
        arguments = [field for field in fields if field.is_argument]
        generics, parameters = self.signature(arguments)
        out = []
        if arguments:
            out.append("    /// With what it needs; everything else has its default.\n    ///\n")
            out += [self.comment(f"`{f.name}`: {self.field_doc(f)}", bullet="- ") for f in arguments]
        else:
            out.append("    /// With everything at its default.\n")
        values = []
        for field in fields:
            value = self.initial(field)
            if field.kind != "length":
                values.append(field.name if value == field.name else f"{field.name}: {value}")
        out.append(f"    pub fn new{generics}({', '.join(parameters)}) -> Self {{\n        {name} {{ {', '.join(values)} }}\n    }}\n")
        return "".join(out)

    def setter(self, field):
        doc = self.comment(self.field_doc(field))
        if field.kind == "buffers":
            return (f"{doc}    ///\n    /// Each call adds one.\n    pub fn {field.name}<T: Element>(mut self, buffer: &'a Buffer<T>) -> Self {{\n"
                    f"        self.{field.name}.push(&buffer.core);\n        self\n    }}\n")
        if field.kind == "structs":
            generics, parameters = self.signature(field.entries)
            values = [{"buffer": f"&{e.name}.core", "string": f"{e.name}.into()"}.get(e.kind, e.name) for e in field.entries]
            entries = "".join(self.comment(f"`{e.name}`: {self.field_doc(e)}", bullet="- ") for e in field.entries)
            parameters = [parameter.replace("&'a str", "&str") for parameter in parameters]
            return (f"{doc}    ///\n    /// Each call adds one.\n    ///\n{entries}    pub fn {field.name}{generics}(mut self, {', '.join(parameters)}) -> Self {{\n"
                    f"        self.{field.name}.push(({', '.join(values)}));\n        self\n    }}\n")
        generics, (parameter,) = self.signature([field])
        value = f"&{field.name}.core" if field.kind == "buffer" else field.name
        value = f"Some({value})" if field.optional else value
        return f"{doc}    pub fn {field.name}{generics}(mut self, {parameter}) -> Self {{\n        self.{field.name} = {value};\n        self\n    }}\n"

    def buffers(self, fields):
        """An expression for all buffers, or None when each is there: then they are named one by one."""
        single = [field for field in fields if field.kind == "buffer"]
        lists = [field for field in fields if field.kind == "buffers"]
        lists += [field for field in fields if field.kind == "structs" and any(e.kind == "buffer" for e in field.entries)]
        if not lists and not any(field.optional for field in single):
            return None
        mixed = any(field.is_argument for field in single)
        names = [f"Some(self.{f.name})" if f.is_argument and mixed else f"self.{f.name}" for f in single]
        optional = any(field.optional for field in single)
        parts = []
        if len(single) == 1 and optional:
            parts.append(f"self.{single[0].name}.into_iter()")
        elif single:
            if not optional:
                names = [f"self.{f.name}" for f in single]
            parts.append(f"[{', '.join(names)}].into_iter()" + (".flatten()" if optional else ""))
        for field in lists:
            if field.kind == "buffers":
                parts.append(f"self.{field.name}.iter().copied()")
            else:
                entries = [i for i, entry in enumerate(field.entries) if entry.kind == "buffer"]
                if len(entries) > 1:
                    fail(f"{field.name}: entries of more than one buffer")
                parts.append(f"self.{field.name}.iter().map(|entry| entry.{entries[0]})")
        return parts[0] + "".join(f".chain({part})" for part in parts[1:])

    def temporaries(self, fields):
        """What the descriptor points to: statements, arguments of desc() and its parameters."""
        statements, arguments, parameters = [], [], []
        for field in fields:
            name = field.name
            if field.kind == "string":
                statements.append(f"let {name} = self.{name}.map(Name::new).transpose()?;" if field.optional
                                  else f"let {name} = Name::new(self.{name})?;")
                arguments.append(f"{name}.as_ref()" if field.optional else f"&{name}")
                parameters.append(f"{name}: Option<&Name>" if field.optional else f"{name}: &Name")
            elif field.kind == "buffers":
                statements.append(f"let {name}: Vec<_> = self.{name}.iter().map(|core| core.raw).collect();")
                arguments.append(f"&{name}")
                parameters.append(f"{name}: &[sys::synfire_buffer]")
            elif field.kind == "structs":
                has_names = any(entry.kind == "string" for entry in field.entries)
                statements.append(f"let ({'_names, ' if has_names else ''}{name}) = self.{name}_list()?;" if has_names
                                  else f"let {name} = self.{name}_list();")
                arguments.append(f"&{name}")
                parameters.append(f"{name}: &[sys::{field.struct}]")
        return statements, arguments, parameters

    def list_of_structs(self, field, visibility):
        strings = [i for i, entry in enumerate(field.entries) if entry.kind == "string"]
        if len(strings) > 1:
            fail(f"{field.name}: entries of more than one name")
        values = []
        for i, entry in enumerate(field.entries):
            values.append(f"{entry.name}: " + {"string": "name.as_ptr()", "buffer": f"entry.{i}.raw"}.get(entry.kind, f"entry.{i}"))
        made = f"sys::{field.struct} {{ {', '.join(values)} }}"
        if not strings:
            return (f"    {visibility}fn {field.name}_list(&self) -> Vec<sys::{field.struct}> {{\n"
                    f"        self.{field.name}.iter().map(|entry| {made}).collect()\n    }}\n")
        return (f"    // The names must live as long as the entries that point to them.\n"
                f"    {visibility}fn {field.name}_list(&self) -> Result<(Vec<Name>, Vec<sys::{field.struct}>)> {{\n"
                f"        let names = self.{field.name}.iter().map(|entry| Name::new(&entry.{strings[0]})).collect::<Result<Vec<_>>>()?;\n"
                f"        let entries = names.iter().zip(&self.{field.name}).map(|(name, entry)| {made}).collect();\n"
                f"        Ok((names, entries))\n    }}\n")

    def descriptor(self, operation, fields, visibility):
        _, _, parameters = self.temporaries(fields)
        struct, values = f"sys::{operation['desc']}", []
        for field in self.structs[operation["desc"]]["fields"]:
            own = next((f for f in fields if f.name == field["name"]), None)
            if field["name"] == "struct_size":
                values.append(f"struct_size: size_of::<{struct}>() as u32")
            elif own:
                value = self.described(own, fields)
                values.append(own.name if value == own.name else f"{own.name}: {value}")
            else:
                values.append(f"{field['name']}: {'[0; %d]' % field['array'] if field['array'] else '0'}")
        return f"    {visibility}fn desc({', '.join(['&self'] + parameters)}) -> {struct} {{\n        {struct} {{ {', '.join(values)} }}\n    }}\n"

    def held(self, operation, fields, layer):
        """The list of what a call holds."""
        own = ["&layer.core.held"] if layer else []
        layers = [field for field in fields if field.kind == "layer"]
        buffers = self.buffers(fields)
        if buffers is None and not any(field.optional for field in layers):
            own += [f"&self.{field.name}.core.held" for field in layers]
            own += [f"&self.{field.name}.held" for field in fields if field.kind == "buffer"]
            return f"[{', '.join(own)}]", ""
        own += [f"&self.{field.name}.core.held" for field in layers if not field.optional]
        lines = f"let mut held: Vec<&Held> = vec![{', '.join(own)}];\n"
        lines += "".join(f"held.extend(self.{f.name}.map(|layer| &layer.core.held));\n" for f in layers if f.optional)
        each = "self.buffers().map(|core| &core.held)" if buffers else ""
        if each:
            lines += f"held.extend({each});\n"
        elif any(field.kind == "buffer" for field in fields):
            lines += f"held.extend([{', '.join(f'&self.{f.name}.held' for f in fields if f.kind == 'buffer')}]);\n"
        return "held", lines

    def record(self, operation, fields):
        statements, arguments, _ = self.temporaries(fields)
        layers = [field for field in fields if field.kind == "layer"]
        lines = statements + [f"let desc = self.desc({', '.join(arguments)});"]
        parameters = ["self", "graph: &mut Graph"] + (["layer: &Layer"] if operation["layer"] else [])
        handles = ["graph.as_raw()"] + (["layer.core.raw"] if operation["layer"] else []) + ["&desc"]
        held = (["&layer.core.held"] if operation["layer"] else []) + \
            [f"&self.{f.name}.core.held" for f in layers if not f.optional]
        if any(field.optional for field in layers):
            lines += [f"let mut held = vec![{', '.join(held)}];"]
            lines += [f"held.extend(self.{f.name}.map(|layer| &layer.core.held));" for f in layers if f.optional]
            lines += ["let _held = hold_all(held)?;"]
        elif held:
            lines += [f"let _held = hold_all([{', '.join(held)}])?;"]
        lines += ["// SAFETY: live handles; the descriptor lives for the call.",
                  f"check(unsafe {{ sys::{operation['record']}({', '.join(handles)}) }})?;"]
        if operation["layer"]:
            lines.append("graph.keep_layer(layer);")
        lines += [f"self.{f.name}.into_iter().for_each(|layer| graph.keep_layer(layer));" if f.optional
                  else f"graph.keep_layer(self.{f.name});" for f in layers]
        if self.buffers(fields):
            lines.append("self.buffers().for_each(|core| graph.keep(core));")
        else:
            lines += [f"graph.keep(self.{field.name});" for field in fields if field.kind == "buffer"]
        lines.append("graph.appended()")
        return (self.comment(self.spell(operation["doc"])) + f"    pub fn record({', '.join(parameters)}) -> Result<Operation> {{\n"
                + "\n".join(lines) + "\n    }\n")

    def run(self, operation, fields):
        statements, arguments, _ = self.temporaries(fields)
        lines = statements + [f"let desc = self.desc({', '.join(arguments)});"]
        on, name = operation["on"], operation["on"].capitalize()
        held, gathered = self.held(operation, fields, on == "layer")
        raw = "layer.core.raw" if on == "layer" else "context.raw"
        doc = next(f["doc"] for f in self.api["functions"] if f["name"] == operation["run"])
        return (self.comment(self.spell(doc) + " Returns when it is done.")
                + f"    pub fn run(self, {on}: &{name}) -> Result<()> {{\n" + "\n".join(lines) + "\n" + gathered
                + "// SAFETY: live handles, held for the call; the descriptor lives for it.\n"
                + f"{on}.now({held}, || unsafe {{ sys::{operation['run']}({raw}, &desc, null_mut()) }})\n    }}\n")

    def operation(self, operation):
        name, fields = self.types[operation["name"]], self.fields[operation["name"]]
        taped = operation["name"] in TAPED
        visibility = "pub(crate) " if taped else ""
        stored = [field for field in fields if field.kind != "length"]
        generics = "<'a>" if any("'a" in field.type for field in stored) else ""
        derives = ["Clone", "Debug"]
        if not any(field.kind in ("buffers", "structs") for field in stored):
            derives.insert(1, "Copy")
        out = [self.comment(self.type_doc(operation), ""), f"#[derive({', '.join(derives)})]\n#[must_use]\n",
               f"pub struct {name}{generics} {{\n"]
        for field in stored:
            out.append(f"    {visibility}{field.name}: {f'Option<{field.type}>' if field.optional else field.type},\n")
        out.append(f"}}\nimpl{generics} {name}{generics} {{\n")
        out.append(self.new(name, fields))
        out += [self.setter(field) for field in stored
                if not field.is_argument and (operation["name"], field.name) not in SPELLED]
        if not taped:
            out.append(self.record(operation, fields))
            out.append(self.run(operation, fields) if operation["run"] else "")
        buffers = self.buffers(fields)
        if buffers:
            out.append(f"    {visibility}fn buffers(&self) -> impl Iterator<Item = &'a Arc<BufferCore>> + '_ {{\n{buffers}\n    }}\n")
        out += [self.list_of_structs(field, visibility) for field in fields if field.kind == "structs"]
        out.append(self.descriptor(operation, fields, visibility))
        out.append("}\n")
        if not any(field.is_argument for field in fields):
            out.append(f"impl Default for {name}{generics.replace('a', '_')} {{\n    fn default() -> Self {{\n        Self::new()\n    }}\n}}\n")
        return "".join(out)

    def enumerations(self):
        out = []
        for macro, groups in (("values", self.new_values), ("flags", self.new_flags)):
            for group, items in groups.items():
                doc = f"Values of `SYNFIRE_{group.upper()}_*`." if macro == "values" else \
                    f"A sum of `SYNFIRE_{group.upper()}_*`; combine them with `|`."
                out.append(f"crate::values::{macro}! {{\n{self.comment(doc)}    {self.groups[group]} {{\n")
                for item, constant in items:
                    out.append(self.comment(self.spell(constant["doc"]), "        ") + f"        {item} = {constant['name']},\n")
                out.append("    }\n}\n")
        return "".join(out)

    def body(self):
        return self.enumerations() + "\n" + "\n".join(self.operation(operation) for operation in self.operations)

    def text(self):
        code = re.sub(r"///.*", "", self.body())

        def used(names):
            return [name for name in names if re.search(rf"\b{name.split()[-1]}\b", code)]

        own = [self.groups[group] for group in (*self.new_values, *self.new_flags)]
        values = [name for name in sorted(set(self.groups.values())) if name not in own]
        imports = [("crate::buffer", ["Buffer", "Core as BufferCore", "Element"]), ("crate::context", ["Context"]),
                   ("crate::error", ["check", "Name", "Result"]), ("crate::graph", ["Graph", "Operation"]),
                   ("crate::held", ["hold_all", "Held"]), ("crate::layer", ["Layer"]), ("crate::values", values),
                   ("std::mem", ["size_of"]), ("std::ptr", ["null", "null_mut"]), ("std::sync", ["Arc"])]
        self.local = own + [name for _, names in imports for name in used(names)]
        lines = [f"use {module}::{{{', '.join(used(names))}}};\n" for module, names in imports if used(names)]
        banner = "//\n// Generated by bindings/rust/generate.py from bindings/api/synfire.json; do not edit.\n\n"
        return MODULE + banner + "".join(lines) + "use synfire_sys as sys;\n\n" + self.body()


def operations(api, texts, settings):
    """The text of operations.rs; `texts` are the hand-written files of the crate."""
    text = Generator(api, texts).text()
    command = ["rustfmt", "--edition", "2021", "--config-path", str(settings)]
    try:
        return subprocess.run(command, input=text, check=True, capture_output=True, text=True).stdout
    except FileNotFoundError:
        return fail("rustfmt is missing (a component of the Rust toolchain)")
    except subprocess.CalledProcessError as error:
        return fail(f"rustfmt refuses operations.rs:\n{error.stderr}")
