#!/usr/bin/env python3
"""Prints the model of the C ABI as JSON, for generators of other languages: describe.py [HEADER]

The description has
    abi        major, minor
    handles    name, struct, doc
    aliases    name, type, doc
    callbacks  name, returns, parameters, doc
    constants  name, value, type, group, doc
    structs    name, size, doc, fields: name, type, array (0: none), offset, size, nullable, doc, and the field's marks
    functions  name, returns, parameters (name, type, nullable, doc, and the parameter's marks), group, since, doc
    objects    name, handle, create, destroy, desc, fields, doc
    makers     name, object, handle, create, desc, fields, doc, query_memory, memory
    operations name, doc, record, run, on, method, layer, object, desc, fields, with the marks of this operation
    methods    name, function, object, doc, parameters, each with its role
in the order of the header. model.py says what each of them means, and header.py which marks there are; what a field is
given `with` or `unless` has these names here.

SPDX-License-Identifier: MIT
"""
import json
import sys

import model


def parameter(one, is_of_a_function=True):
    own = {"fields": {name: {**marks, **({"nullable": True} if nullable else {})}
                      for name, (marks, nullable) in one.own_marks.items()}} if one.own_marks else {}
    doc = {"doc": one.doc} if is_of_a_function else {}
    return {"name": one.name, "type": one.type, "nullable": one.nullable, **one.marks, **own, **doc}


def field(one, of_a_structure=True):
    place = {"offset": one.offset, "size": one.size} if of_a_structure else {}
    return {"name": one.name, "type": one.type, "array": one.array, **place, "nullable": one.nullable, "doc": one.doc,
            **one.marks}


def made(item, names, **more):
    return {**{name: getattr(item, name) for name in names.split()}, **more}


def description(api):
    return {
        "abi": api.version,
        "handles": [made(handle, "name struct doc") for handle in api.handles],
        "aliases": [made(alias, "name type doc") for alias in api.aliases],
        "callbacks": [{"name": callback.name, "returns": callback.returns,
                       "parameters": [parameter(one, False) for one in callback.parameters], "doc": callback.doc}
                      for callback in api.callbacks],
        "constants": [made(constant, "name value type group doc") for constant in api.constants],
        "structs": [made(struct, "name size doc", fields=[field(one) for one in struct.fields]) for struct in api.structs],
        "functions": [{"name": function.name, "returns": function.returns,
                       "parameters": [parameter(one) for one in function.parameters],
                       **made(function, "group since doc")} for function in api.functions],
        "objects": [{**made(one, "name handle create destroy desc"), "fields": [field(f, False) for f in one.fields],
                     "doc": one.doc} for one in api.objects],
        "makers": [{**made(one, "name object handle create desc"), "fields": [field(f, False) for f in one.fields],
                    **made(one, "doc query_memory memory")} for one in api.makers],
        "operations": [made(operation, "name doc record run on method layer object desc",
                            fields=[field(one, False) for one in operation.fields]) for operation in api.operations],
        "methods": [made(method, "name function object doc",
                         parameters=[{**parameter(one), "role": one.role} for one in method.parameters])
                    for method in api.methods]}


def main():
    api = model.read(*sys.argv[1:2])
    print(json.dumps(description(api), indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
