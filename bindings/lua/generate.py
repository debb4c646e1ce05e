#!/usr/bin/env python3
"""Writes the Lua binding, one file for LuaJIT: generate.py [--check] [HEADER [FOLDER]]

From the model of the C ABI, bindings/api/model.py, and from runtime.lua, which is written by hand, comes synfire.lua in
FOLDER, by default this one. In runtime.lua a line `--@declarations` stands for what ffi.cdef is told, and `--@tables` for
the tables of constants, structures, objects, operations and methods, which the code below them reads. The same tables are
docs/pages/lua.md, the reference: a line `<!-- reference -->` and all below it is written anew.

With --check nothing is written, and a stale file is an error, with the difference shown.

SPDX-License-Identifier: MIT
"""
import difflib
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "api"))
import model  # noqa: E402

PAGE = HERE.parents[1] / "docs/pages/lua.md"
REFERENCE = "<!-- reference -->\n"
# Functions of objects that runtime.lua has: their purpose does not follow from the marks, or they are called in every frame.
BY_HAND = {f"synfire_{name}" for name in (
    "buffer_get_desc graph_launch graph_wait graph_poll graph_set_value graph_set_enabled "
    "layer_get_parameter layer_set_parameters").split()}


# ---- Declarations ------------------------------------------------------------------------------------------------------


def parameters(function):
    return ", ".join(f"{p.type}{'' if p.type.endswith('*') else ' '}{p.name}" for p in function.parameters) or "void"


def declarations(api):
    """The text for ffi.cdef: types and functions. Constants are in the tables."""
    out = [f"typedef struct {handle.struct} *{handle.name};" for handle in api.handles]
    out += [f"typedef {alias.type} {alias.name};" for alias in api.aliases]
    # Callbacks name structures, and structures callbacks.
    out += [f"typedef struct {struct.name} {struct.name};" for struct in api.structs]
    out += [f"typedef {callback.returns}{'' if callback.returns.endswith('*') else ' '}(*{callback.name})"
            f"({parameters(callback)});" for callback in api.callbacks]
    for struct in api.structs:
        out.append(f"struct {struct.name} {{")
        for field in struct.fields:
            array = f"[{field.array}]" if field.array else ""
            out.append(f"  {field.type}{'' if field.type.endswith('*') else ' '}{field.name}{array};")
        out.append("};")
    for function in api.functions:
        space = "" if function.returns.endswith("*") else " "
        out.append(f"{function.returns}{space}{function.name}({parameters(function)});")
    return "".join(line + "\n" for line in out)


# ---- Tables ------------------------------------------------------------------------------------------------------------


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def value(one):
    if isinstance(one, bool):
        return "true" if one else "false"
    return str(one) if isinstance(one, int) else quoted(one)


def table(**entries):
    """A Lua table of what is neither None nor False."""
    return "{ " + ", ".join(f"{key} = {value(one)}" for key, one in entries.items() if one not in (None, False)) + " }"


def kind(field):
    """The name by which the code knows how to treat a field or a parameter."""
    if field.target == "char" and field.array:
        return "chars"
    if field.role == "number":
        return "numbers" if field.array else "number"
    if field.role is None:
        return "pointer"
    return field.role


def field_table(field):
    what = kind(field)
    base = field.target if what in ("number", "numbers", "list", "pointer", "result", "length", "answer") else None
    return table(name=field.name, kind=what, type=base, object=field.object if what in ("object", "part", "list") else None,
                 group=field.one_of or field.any_of, sum=bool(field.any_of), flag=bool(field.flag),
                 required=bool(field.required),
                 needed=field.role in ("object", "text", "list") and not field.nullable,
                 bound=field.is_bound,
                 length=field.length.name if field.length else None, counted=field.counted.name if field.counted else None,
                 array=field.array or None, optional=bool(field.optional), optional_nan=bool(field.optional_nan),
                 is_read=field.is_read if what == "list" else None)


def tables(api):
    out = ["-- The classes of objects, with what destroys one.\nlocal handles = {\n"]
    for handle in api.handles:
        if f"{handle.name}_destroy" in api.function:
            out.append(f"  {table(name=handle.object, destroy=f'{handle.name}_destroy')},\n")
    out.append("}\n\n-- The constants of each group, by their names without the prefix, in the order of the header.\n"
               "local groups = {\n")
    for group in api.groups.values():
        names = ", ".join(f'{{ "{c.symbol.lower()}", {c.value} }}' for c in group.constants)
        out.append(f"  {group.name} = {{ {names} }},\n")
    out.append("}\n\n-- The fields of each structure; those that no caller fills in are not there.\nlocal structs = {\n")
    for struct in api.structs:
        out.append(f"  {struct.name} = {{\n    sized = {value(struct.is_sized)},\n")
        out += [f"    {field_table(field)},\n" for field in struct.given]
        out.append("  },\n")
    out.append("}\n\n-- What a context creates: the name of the function, the class, C's function and its descriptor.\n"
               "local creations = {\n")
    for made in api.objects:
        out.append(f"  {table(name=made.name, object=made.name, create=made.create, desc=made.desc)},\n")
    for maker in api.makers:
        out.append(f"  {table(name=f'{maker.object}_{maker.name}', object=maker.object, create=maker.create, desc=maker.desc)},\n")
    out.append("}\n\n-- How much memory an object would take: functions of the module, before anything is created.\n"
               "local queries = {\n")
    for query in queries(api):
        out.append(f"  {table(**query)},\n")
    out.append("}\n\n-- What a graph records, with what runs now: a function of the context, or of the object.\nlocal operations = {\n")
    for operation in api.operations:
        out.append(f"  {table(name=operation.name, record=operation.record, object=operation.object, desc=operation.desc, run=operation.run, on=operation.on, method=operation.method)},\n")
    out.append("}\n\n-- Passes that run now and cannot be recorded, over addresses: fields of their descriptors are pointers.\nlocal passes = {\n")
    for function in passes(api):
        out.append(f"  {table(object=function.parameters[0].object, name=pass_name(function), call=function.name, desc=function.parameters[1].target)},\n")
    out.append("}\n\n-- The functions of objects, with their parameters after the object.\nlocal methods = {\n")
    for method in methods(api):
        out.append(f"  {{ object = {quoted(method.object)}, name = {quoted(method.name)}, call = {quoted(method.function)}")
        if method.parameters:
            out.append(",\n" + "".join(f"    {field_table(p)},\n" for p in method.parameters) + "  },\n")
        else:
            out.append(" },\n")
    out.append("}\n")
    return "".join(out)


def queries(api):
    """Functions that fill in a structure from a descriptor, without an object."""
    found = []
    for function in api.functions:
        match = re.fullmatch(r"synfire_(\w+?)_query_memory(?:_(\w+))?", function.name)
        if match and len(function.parameters) == 2 and function.parameters[0].struct:
            name = f"{match[1]}_memory" + (f"_{match[2]}" if match[2] else "")
            found.append({"name": name, "call": function.name, "desc": function.parameters[0].target,
                          "answer": function.parameters[1].target})
    return found


def passes(api):
    """Functions of an object that take a descriptor and a stream, and are not an operation's."""
    known = {name for operation in api.operations for name in (operation.record, operation.run)}
    return [function for function in api.functions
            if function.name not in known and [p.role for p in function.parameters[::2]] == ["object", "stream"]
            and function.parameters[1].struct and function.parameters[1].is_read and len(function.parameters) == 3
            and function.parameters[0].object != "context"]


def pass_name(function):
    return function.name[len(f"synfire_{function.parameters[0].object}_"):]


def methods(api):
    return [method for method in api.methods if method.function not in BY_HAND]


# ---- The reference page --------------------------------------------------------------------------------------------------


def first_sentence(text):
    text = re.sub(r"\n@.*", "", text, flags=re.S)
    text = " ".join(re.split(r"\n\s*\n", text.strip())[0].split())
    text = re.sub(r"::(SYNFIRE_\w+)", lambda m: f"`{m[1]}`", text)
    text = re.sub(r"(?<!`)::(synfire_\w+(?:::\w+)?)", lambda m: f"`{m[1]}`", text)
    text = re.sub(r"(?<![`\w:])(synfire_\w+(?:::\w+)?(?:\(\))?)(?![\w`])", r"`\1`", text)
    match = re.match(r"(.*?[.:])(?=\s+[A-Z]|$)", text)
    return (match[1] if match else text).rstrip(":").replace("|", "\\|")


def field_text(field):
    if field.role == "length":
        return None
    return field.name + ("" if not field.is_needed else "*")


def fields_of(fields):
    names = [text for field in fields if (text := field_text(field)) and kind(field) not in ("callback",)]
    return ", ".join(f"`{name}`" for name in names)


def reference(api):
    """The objects with their functions, the operations, the constants."""
    out = ["## Objects\n\nFields with an asterisk must be given; others are 0 or absent by default. What they mean is in the header, under\n"
           "the name of the structure.\n\n| function | structure | fields |\n| --- | --- | --- |\n"]
    context = model.Fields([f for f in api.struct["synfire_context_desc"].given], api)
    out.append(f"| `synfire.context{{...}}` | `synfire_context_desc` | {fields_of(context)} |\n")
    for made in api.objects:
        out.append(f"| `context:{made.name}{{...}}` | `{made.desc}` | {fields_of(made.fields)} |\n")
    for maker in api.makers:
        out.append(f"| `context:{maker.object}_{maker.name}{{...}}` | `{maker.desc}` | {fields_of(maker.fields)} |\n")
    for query in queries(api):
        out.append(f"| `synfire.{query['name']}{{...}}` | `{query['desc']}` | as above; returns `{query['answer']}` |\n")
    out.append("\n## Operations\n\nThe first form records into a graph and returns the number of the operation; the second runs now.\n\n"
               "| recorded | now | fields |\n| --- | --- | --- |\n")
    for operation in api.operations:
        first = f"{operation.object}, " if operation.object else ""
        now = f"`{operation.on}:{operation.method}{{...}}`" if operation.run else ""
        out.append(f"| `graph:{operation.name}({first}{{...}})` | {now} | {fields_of(operation.fields)} |\n")
    for function in passes(api):
        out.append(f"|  | `{function.parameters[0].object}:{pass_name(function)}{{...}}` | {fields_of(function.parameters[1].struct.given)} |\n")
    out.append("\n## Functions of objects\n\nOptional parameters are in brackets. A function that gives nothing returns its object.\n\n"
               "| function | what it does |\n| --- | --- |\n")
    for method in methods(api):
        given, results = [], []
        for p in method.parameters:
            if p.role in ("part", "result", "answer", "string"):
                results.append(p.name)
            elif p.role == "list" and not p.is_read:
                given.append(p.name if p.struct else f"n_{p.name}")
                results.append(p.name)
            elif p.role not in ("length", "capacity", "size"):
                given.append(f"[{p.name}]" if p.nullable or p.optional or p.optional_nan else p.name)
        result = f" → {', '.join(results)}" if results else ""
        out.append(f"| `{method.object}:{method.name}({', '.join(given)})`{result} | {first_sentence(method.doc)} |\n")
    out.append("\n## Names of constants\n\n| group | names |\n| --- | --- |\n")
    for group in api.groups.values():
        out.append(f"| {group.name} | {', '.join('`' + c.symbol.lower() + '`' for c in group.constants)} |\n")
    return "".join(out)


# ---- Files -------------------------------------------------------------------------------------------------------------


def written(runtime, made, with_declarations=True):
    """synfire.lua. Without its declarations it has no name of C but those that something uses."""
    text = runtime.replace("--@declarations\n", made["declarations"] if with_declarations else "")
    return text.replace("--@tables\n", made["tables"]).replace(
        "-- runtime.lua - ", "-- synfire.lua - ", 1).replace(
        "-- bindings/lua/generate.py makes synfire.lua of this file and of include/synfire/synfire.h.",
        "-- Generated by bindings/lua/generate.py from runtime.lua and include/synfire/synfire.h; do not edit.", 1)


def source(api, with_declarations=True):
    made = {"declarations": declarations(api), "tables": "ABI_MAJOR, ABI_MINOR = "
            f"{api.version['major']}, {api.version['minor']}\n\n" + tables(api)}
    return written((HERE / "runtime.lua").read_text(encoding="utf-8"), made, with_declarations)


def main():
    arguments = [a for a in sys.argv[1:] if a != "--check"]
    api = model.read(*arguments[:1])
    folder = pathlib.Path(arguments[1]) if len(arguments) > 1 else HERE
    files = {folder / "synfire.lua": source(api)}
    if folder == HERE:
        page = PAGE.read_text(encoding="utf-8")
        files[PAGE] = page[:page.index(REFERENCE) + len(REFERENCE)] + "\n" + reference(api)
    stale = False
    for path, fresh in files.items():
        if "--check" not in sys.argv:
            path.write_text(fresh, encoding="utf-8")
            continue
        recorded = path.read_text(encoding="utf-8") if path.exists() else ""
        if recorded == fresh:
            print(f"{path.name} is as generated: {fresh.count(chr(10))} lines")
            continue
        stale = True
        sys.stdout.writelines(difflib.unified_diff(recorded.splitlines(True), fresh.splitlines(True), str(path),
                                                   "what synfire.h says"))
    if stale:
        sys.exit("generate.py: stale files: bindings/update.sh rewrites them")


if __name__ == "__main__":
    main()
