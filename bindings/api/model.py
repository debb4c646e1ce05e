"""The model of the C ABI: everything that synfire.h declares (header.py), and what follows from its marks, resolved once.

Whoever writes something that follows from the header reads this model and resolves no mark: the generators of the
bindings, those of the tests that enumerate the ABI and of its records, and describe.py, which prints it for others.

    api = model.read()              of include/synfire/synfire.h, or of another header

An Api has, in the order of the header,
    version     {"major": .., "minor": ..}
    handles     pointers to incomplete structures: Handle, with `object`, the name without synfire_
    aliases, callbacks, constants, structs, functions   as header.py describes them
    groups      the constants by group: Group
    objects     handles with a function that creates one on a context from a descriptor and one that destroys it: Object
    makers      functions that create an object from another descriptor: Maker
    operations  what can be recorded, with the immediate call of the same kind: Operation
    methods     functions of an object where the purpose of each further parameter is known: Method
and `struct` and `function` by name. A field or a parameter has, beside its marks (header.Field),
    role        what it is for:
                "number"    also a constant, a flag, or an array of a fixed length
                "object"    the handle of one; "stream", a CUDA stream; "text"; "callback"
                "list"      with the length in another field; "length", of that list
                "result"    of a parameter: a number that the call gives; "answer", a structure that it fills in;
                            "part", the handle of another object that it gives
                "string"    of a parameter: memory for a text that the call gives; "capacity", the bytes of that memory;
                            "size", those of the whole text
                None        nothing of the above
    object      the name of the object whose handle it is, or that it points to
    target      the type that it points to; is_read: whether that is const; struct: the structure that this is
    length      of a list: the field with its length; counted: of a length, its list
    other       the field with or without which it is given; companions: those that are given with it
    is_needed   whether a caller must give it in any case: it is not a number and may not be null, or it is required
    is_bound    whether it is named after a constant of a sum beside it, which says whether it counts
    default     the number that its documentation calls the default, as a text; None without one
The fields of a structure, of an object and of an operation are a Fields, which knows the ways to give what is needed.

SPDX-License-Identifier: MIT
"""
import pathlib
import re

import header
from header import SIZES, Item, fail

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = ROOT / "include/synfire/synfire.h"
NUMBERS = set(SIZES) - {"char"}
# Objects that are made of a text, with a callback: languages wrap them, and what they do, by hand.
LOADED = {"synfire_model", "synfire_surrogate"}
# Fields that every descriptor has, and no caller fills in.
OWN_FIELDS = ("struct_size", "reserved")


class Object(Item):
    """name, handle, create, destroy, desc, fields (of the descriptor, without OWN_FIELDS), doc."""


class Maker(Item):
    """Another way to create an object: name, object, handle, create (synfire_x_create_NAME), desc, fields (numbers, and lists
    that are read), doc; query_memory (the function that says how much memory it would take, or None) and memory (its structure)."""


class Operation(Item):
    """name, doc, record; run (None: it cannot run on its own), on (what the immediate call takes: "context" or the name
    of an object), method (what the immediate call is called there: "forward" of a synapse); layer (whether recording
    takes a layer), object (the name of the object that recording takes beside the graph); desc, fields (those of the
    descriptor without OWN_FIELDS, with the marks that they have in this operation); has_callback; and sharing, the
    operations with the same descriptor, itself included."""


class Method(Item):
    """name, function, object, doc, parameters (without the object; each with a role). The function returns a status."""


class Group(Item):
    """name, prefix, constants, zero (the constant of the value 0, or None), is_sum (whether a field is a sum of them)."""


class Fields(list):
    """Fields of a descriptor or parameters of a function, with what they are to one another."""

    def __init__(self, fields, api):
        super().__init__(fields)
        self.of = {field.name: field for field in self}
        for field in self:
            field.length = next((other for other in self if other.length_of == field.name), None)
            field.counted = self.of.get(field.length_of)
            field.companions = [other for other in self if other.given_with == field.name]
            field.other = self.of.get(field.given_with or field.given_unless)
        for field in self:
            field.role = self.role(field, api)
            default = re.search(r"Default: (-?\d+(?:\.\d+)?(?:e-?\d+)?)\.(?=\s|$)", field.doc)
            field.default = default[1] if default else None
            field.is_bound = any(field.name == symbol.lower() for sums in self if sums.any_of
                                 for symbol in api.symbols(sums.any_of))
            field.is_needed = bool(field.required) or not field.nullable and \
                field.role in ("object", "text", "list", "stream", "callback", None)

    @staticmethod
    def role(field, api):
        """Returns the role of a field; parameters that a call fills in have other roles (Api.give_roles)."""
        target = field.type.rstrip(" *")
        field.target = target[len("const "):] if target.startswith("const ") else target
        field.is_read = field.type.startswith("const ")
        field.object = api.object_of.get(field.target)
        field.struct = api.struct.get(field.target)
        if field.length_of:
            return "length"
        if field.length:
            return "list"
        if field.type == "synfire_stream":
            return "stream"
        if field.type in api.object_of:
            return "object"
        if field.type == "const char *":
            return "text"
        if field.type in api.callback:
            return "callback"
        return "number" if not field.type.endswith("*") and field.target in api.numbers else None

    @property
    def alternatives(self):
        """Fields that are taken, with their companions, in place of the one that is given unless they are."""
        names = dict.fromkeys(field.given_unless for field in self if field.given_unless)
        return {name: [field for field in self if name in (field.name, field.given_with)] for name in names}

    def is_alternative(self, field):
        """Returns true if it is given in place of another one, or with one that is."""
        return any(field in group for group in self.alternatives.values())

    def needed(self, instead=None):
        """The fields that a caller must give: first those that are not numbers, then required numbers, each in the order of
        the header. Where a field is given unless another one is, `instead` names that other one, to take its way."""
        alternatives, given, numbers = self.alternatives, [], []
        for field in self:
            if field.given_unless:
                given += alternatives[instead] if field.given_unless == instead else [field]
            elif not self.is_alternative(field) and field.is_needed:
                (numbers if field.required else given).append(field)
        return given + numbers

    @property
    def ways(self):
        """All ways to give what is needed: None for the usual one, and each name that `needed` takes."""
        return {instead: self.needed(instead) for instead in (None, *self.alternatives)}


class Api:
    def __init__(self, read):
        self.version, self.handles, self.aliases, self.callbacks = read.version, read.handles, read.aliases, read.callbacks
        self.constants, self.structs, self.functions = read.constants, read.structs, read.functions
        self.numbers = {*SIZES, *(alias.name for alias in self.aliases)}
        self.struct = {struct.name: struct for struct in self.structs}
        self.function = {function.name: function for function in self.functions}
        self.callback = {callback.name: callback for callback in self.callbacks}
        for handle in self.handles:
            handle.object = handle.name[len("synfire_"):]
        # The names of objects by the types of their handles. A stream is the handle of no object.
        self.object_of = {handle.name: handle.object for handle in self.handles if handle.name != "synfire_stream"}
        self.groups = {}
        for constant in self.constants:
            self.add_constant(constant)
        for struct in self.structs:
            self.check_marks(struct)
            struct.fields = Fields(struct.fields, self)
            struct.is_sized = struct.fields[0].name == "struct_size"
            struct.given = Fields([field.extended() for field in struct.fields if field.name not in OWN_FIELDS], self)
        for function in self.functions:
            function.parameters = Fields(function.parameters, self)
            self.give_roles(function)
        for item in [*self.structs, *self.functions]:
            for field in item.fields if item in self.structs else item.parameters:
                if field.any_of:
                    self.groups[field.any_of].is_sum = True
        self.objects = [made for made in map(self.object, self.handles) if made]
        self.makers = [maker for made in self.objects for function in self.functions
                       if function.name.startswith(made.create + "_") for maker in [self.maker(made, function)] if maker]
        self.operations = [self.operation(*match) for match in
                           ((re.fullmatch(r"synfire_graph_record_(\w+)", function.name), function)
                            for function in self.functions) if match[0]]
        for operation in self.operations:
            operation.sharing = [other for other in self.operations if other.desc == operation.desc]
        self.methods = [method for method in map(self.method, self.functions) if method]
        given = [(method.object, parameter.object) for method in self.methods for parameter in method.parameters
                 if parameter.role == "part"]
        # Objects whose methods give others, and those others.
        self.wholes, self.parts = {whole for whole, _ in given}, {part for _, part in given}

    # ---- Constants ---------------------------------------------------------------------------------------------------

    def add_constant(self, constant):
        name = constant.group
        prefix = "SYNFIRE_" + ("" if name == "status" else name.upper() + "_")
        group = self.groups.setdefault(name, Group(name=name, prefix=prefix, constants=[], zero=None, is_sum=False))
        constant.symbol = constant.name[len(prefix):]
        group.constants.append(constant)
        if constant.value == 0:
            group.zero = group.zero or constant

    def symbols(self, group):
        """The names of a group's constants without their prefix, each with its constant."""
        if group not in self.groups:
            fail(f"no constants of the group '{group}'")
        return {constant.symbol: constant for constant in self.groups[group].constants}

    # ---- Fields ------------------------------------------------------------------------------------------------------

    @staticmethod
    def check_marks(struct):
        """Marks that a field does not fit stop whoever reads the header, with its name."""
        of = {field.name: field for field in struct.fields}
        lists = {field.length_of for field in struct.fields if field.length_of}
        for field in struct.fields:
            where, pointer = f"{struct.name}.{field.name}", field.type not in SIZES
            if field.type in ("synfire_buffer", "const synfire_buffer *") and not field.access:
                fail(f"{where} does not say whether the buffer is read, written or updated")
            if field.required and (pointer or field.array or field.length_of or field.flag):
                fail(f"{where} is required, but is not a number that a caller gives")
            for other in (field.given_with, field.given_unless):
                if other is None:
                    continue
                if not pointer or field.name in lists:
                    fail(f"{where} is given with or without {other}, but is neither an object nor a text")
                if other not in of or other in lists or not of[other].nullable or of[other].given_with or \
                        of[other].given_unless:
                    fail(f"{where} is given with or without {other}, which is not a field that may simply be null")

    def own_fields(self, struct, own):
        """The fields of a descriptor that a caller fills in; `own` are marks that replace a field's."""
        return Fields([field.marked(*own[field.name]) if field.name in own else field.extended()
                       for field in struct.given], self)

    def descriptor(self, parameter):
        """The structure that a parameter points to."""
        return self.struct[parameter.target]

    # ---- Functions ---------------------------------------------------------------------------------------------------

    def give_roles(self, function):
        """The roles of parameters that the call fills in, which the type alone does not tell."""
        parameters = function.parameters
        for parameter in parameters:
            if parameter.role is None and parameter.type == f"{parameter.target} *":
                if parameter.target in self.object_of:
                    parameter.role = "part"
                elif parameter.struct:
                    parameter.role = "answer" if parameter.struct.fields[0].name == "struct_size" else None
                elif parameter.target in NUMBERS:
                    parameter.role = "result"
        # A text that the call gives: `char *text, uint64_t capacity, uint64_t *length`, marked as a list or not.
        others = parameters[1:]
        for i in range(len(others) - 2):
            text, capacity, size = three = others[i:i + 3]
            if [parameter.type for parameter in three] == ["char *", "uint64_t", "uint64_t *"] and \
                    capacity.length_of in (None, text.name):
                text.role, capacity.role, size.role = "string", "capacity", "size"

    def object(self, handle):
        create, destroy = (self.function.get(f"{handle.name}_{verb}") for verb in ("create", "destroy"))
        types = [parameter.type for parameter in create.parameters] if create else []
        if not destroy or len(types) != 3 or types[0] != "synfire_context" or types[2] != f"{handle.name} *":
            return None
        struct = self.descriptor(create.parameters[1])
        return Object(name=handle.object, handle=handle.name, create=create.name, destroy=destroy.name, desc=struct.name,
                      fields=self.own_fields(struct, {}), doc=handle.doc)

    def maker(self, made, function):
        types = [parameter.type for parameter in function.parameters]
        if len(types) != 3 or types[0] != "synfire_context" or types[2] != f"{made.handle} *":
            return None
        struct, name = self.descriptor(function.parameters[1]), function.name[len(made.create) + 1:]
        fields = self.own_fields(struct, {})
        if any(field.array or field.role not in ("number", "length") and not (field.role == "list" and field.is_read)
               for field in fields):
            fail(f"{struct.name} has a field that is neither a number nor a list that is read")
        query = self.function.get(f"{made.handle}_query_memory_{name}")
        return Maker(name=name, object=made.name, handle=made.handle, create=function.name, desc=struct.name, fields=fields,
                     doc=function.doc, query_memory=query.name if query else None,
                     memory=query.parameters[1].target if query else None)

    def operation(self, match, function):
        *handles, desc = function.parameters
        struct, own = self.descriptor(desc), desc.own_marks or {}
        for name in own:
            if name not in struct.fields.of:
                fail(f"{function.name} marks {name}, which {struct.name} does not have")
        owners = [handle.object for handle in handles[1:]]
        if len(owners) > 1:
            fail(f"{function.name} takes more than one object; others are fields of its descriptor")
        run, on, method = None, None, None
        for owner in ("context", *owners):
            # The operation of an object may have its name in front, as the call has: "synapse_forward".
            for candidate in (f"synfire_{match[1]}", f"synfire_{owner}_{match[1]}"):
                called = self.function[candidate].parameters if candidate in self.function else []
                if [parameter.type for parameter in called] == [f"synfire_{owner}", desc.type, "synfire_stream"]:
                    run, on, method = candidate, owner, candidate[len("synfire_"):]
        if run and on != "context":
            method = method[len(on) + 1:]
        fields = self.own_fields(struct, own)
        return Operation(name=match[1], doc=function.doc, record=function.name, run=run, on=on, method=method,
                         layer=owners == ["layer"], object=owners[0] if owners else None, desc=struct.name, fields=fields,
                         has_callback=any(field.role == "callback" for field in fields))

    def method(self, function):
        """A function of an object all of whose parameters have a role."""
        known = {name for operation in self.operations for name in (operation.record, operation.run)}
        known |= {name for made in self.objects for name in (made.create, made.destroy)}
        if function.name in known or function.returns != "synfire_status" or not function.parameters:
            return None
        first, *others = function.parameters
        names = sorted((handle.name for handle in self.handles), key=len, reverse=True)
        owner = next((name for name in names if function.name.startswith(name + "_")), None)
        if owner is None or first.type != owner or owner in LOADED or \
                any(parameter.role in (None, "callback") for parameter in others):
            return None
        return Method(name=function.name[len(owner) + 1:], function=function.name, object=owner[len("synfire_"):],
                      doc=function.doc, parameters=others)


def read(path=HEADER):
    return Api(header.Header(pathlib.Path(path).read_text(encoding="utf-8")))
