#!/usr/bin/env python3
"""Checks the dependencies between rooms, the folders of src: each uses only what it may, no machine names a kind of
operation, no two files have the same name, and the picture of docs/pages/house.md has the arrows that are allowed here.
Includes show what a file is written against, symbols of object files what it is linked against: a function may be declared
in one room and defined in another, or declared by hand without any include.

Usage: check_rooms.py SOURCE                    the folder of the sources: includes and names
       check_rooms.py SOURCE BUILD OBJECTS NM   also what the object files, listed one per line in OBJECTS and built in
                                                the folder BUILD, define and use, as NM lists it
"""

import collections
import pathlib
import posixpath
import re
import subprocess
import sys

BELOW_KINDS = {"platform", "base", "graph"}
MACHINES = {"backends/host", "backends/cuda"}
MAY_USE = {
    "platform": set(),
    "base": {"platform"},
    "files": {"platform", "base"},
    "ranks": {"platform", "base"},
    "graph": {"platform", "base"},
    "backends/host": BELOW_KINDS,
    "backends/cuda": BELOW_KINDS,
    "operations": BELOW_KINDS | MACHINES | {"ranks"},
    # The interface of all synapses; its folder passes, which they share; each other folder, which is a kind.
    "synapses": BELOW_KINDS,
    "synapses/passes": BELOW_KINDS | MACHINES | {"operations", "synapses"},
    "synapses/kinds": BELOW_KINDS | MACHINES | {"operations", "synapses", "synapses/passes"},
    # Layers, and the folders with their operations.
    "neurons": BELOW_KINDS | {"synapses"},
    "neurons/operations": BELOW_KINDS | MACHINES | {"operations", "synapses", "synapses/passes", "neurons"},
    "optimizer": BELOW_KINDS | MACHINES | {"operations", "synapses", "synapses/kinds", "neurons", "neurons/operations"},
    "fusion": BELOW_KINDS | MACHINES | {"operations", "synapses", "synapses/kinds", "neurons", "neurons/operations"},
    "kinds": BELOW_KINDS | {"ranks", "operations", "synapses/kinds", "neurons/operations", "optimizer", "fusion"},
    "jit": BELOW_KINDS | MACHINES | {"files", "neurons", "neurons/operations"},
    "network": BELOW_KINDS | {"files", "ranks", "operations", "synapses", "synapses/passes", "synapses/kinds", "neurons",
                              "neurons/operations", "optimizer"},
}
# Templates that a room declares and the list of kinds defines for all.
GIVEN = re.compile(r"synfire::core::KindOf<.*>::table$")
INCLUDE = re.compile(r'^#include [<"]([^>"]+)[>"]', re.MULTILINE)
KIND = re.compile(r"^SYNFIRE_DECLARE_KIND\((\w+)\)", re.MULTILINE)
# The rooms that folders within these folders are.
INNER = {"synapses": "kinds", "neurons": "operations"}
SOURCES = {".hpp", ".cpp", ".cuh", ".cu"}


def room_of_file(name):
    """The room of a file below src: "synapses/kinds" for "synapses/dense/dense_host.cpp"."""
    folder, *inside = name.split("/")
    if folder == "backends" or folder == "synapses" and inside[0] == "passes":
        return f"{folder}/{inside[0]}"
    if len(inside) > 1 and folder in INNER:
        return f"{folder}/{INNER[folder]}"
    return folder


def files_of(source, room):
    return [path for path in sorted((source / "src" / room.split("/")[0]).rglob("*"))
            if path.suffix in SOURCES and room_of_file(path.relative_to(source / "src").as_posix()) == room]


def check_names(source):
    """A name of a file says which it is: no two files of src share one."""
    by_name = collections.defaultdict(list)
    for path in sorted((source / "src").rglob("*")):
        if path.suffix in SOURCES:
            by_name[path.name].append(path.relative_to(source).as_posix())
    return [f"{' and '.join(paths)}: two files called {name}" for name, paths in by_name.items() if len(paths) > 1]


def check_kinds(source):
    """The list of kinds is complete. Returns them and the problems."""
    kinds = {name for path in (source / "src").rglob("*.hpp") for name in KIND.findall(path.read_text(encoding="utf-8"))}
    listed = set(re.findall(r"KIND\((\w+)\)", (source / "src/kinds/kinds.hpp").read_text(encoding="utf-8")))
    return kinds, [f"src/kinds/kinds.hpp: {name} is {'not in the list' if name in kinds else 'no kind'}"
                   for name in sorted(kinds ^ listed)]


def check_includes(source, kinds, may_use=None):
    may_use = may_use or MAY_USE
    problems, n_files = [], 0
    rooms = {room_of_file(path.relative_to(source / "src").as_posix()) for path in (source / "src").rglob("*")
             if path.suffix in SOURCES and path.parent != source / "src"}
    for room in sorted(rooms):
        if room not in may_use:
            problems.append(f"src/{room}: no such room; tests/docs/check_rooms.py lists them")
            continue
        for path in files_of(source, room):
            n_files += 1
            text = path.read_text(encoding="utf-8")
            for name in INCLUDE.findall(text):
                other = room_of_file(name)
                if other in may_use and other != room and other not in may_use[room]:
                    problems.append(f"{path.relative_to(source)} includes <{name}>: {room} may not use {other}")
            if room in MACHINES:
                for name in sorted(kinds):
                    if re.search(rf"\boperations::{name}\b", text):
                        problems.append(f"{path.relative_to(source)} names operations::{name}: machines know no kind")
    return n_files, problems


def check_picture(source, may_use=None):
    """The picture of docs/pages/house.md has the arrows that are allowed, without those that others imply."""
    may_use = may_use or MAY_USE
    page = (source / "docs/pages/house.md").read_text(encoding="utf-8")
    drawn = {room: set() for room in may_use}
    problems = []
    for room, other in re.findall(r'^ *"([^"]+)" -> "([^"]+)"', page, re.MULTILINE):
        if room in may_use and other not in may_use:
            problems.append(f"docs/pages/house.md: {room} -> {other}: no such room")
        elif room in may_use:
            drawn[room].add(other)
    for room in sorted(may_use):
        allowed, shown = closure(room, may_use), closure(room, drawn)
        problems += [f"docs/pages/house.md draws {room} -> {other}, which is not allowed" for other in sorted(shown - allowed)]
        problems += [f"docs/pages/house.md does not show that {room} may use {other}" for other in sorted(allowed - shown)]
        for other in sorted(drawn[room]):
            if any(other in closure(between, drawn) for between in drawn[room] - {other}):
                problems.append(f"docs/pages/house.md: {room} -> {other} follows from other arrows")
    return problems


# ---- symbols -------------------------------------------------------------------------------------------------------

def room_of(obj, build):
    """The room of an object file, by its place in the build: "graph" for both
    src/CMakeFiles/synfire_core.dir/graph/slots.cpp.o and src/CMakeFiles/synfire_core.dir/Unity/unity_graph_cxx.cxx.o."""
    folder, inside = re.fullmatch(r"(.*?)/?CMakeFiles/[^/]+\.dir/(.*)", posixpath.relpath(obj, build)).groups()
    # Several rooms are one target; "neurons_operations" is "neurons/operations".
    inside = re.sub(r"^Unity/unity_([a-z_]+)_cxx\.cxx\.", lambda match: match[1].replace("_", "/") + "/", inside)
    place = posixpath.normpath(posixpath.join(folder, inside.replace("__/", "../"))).split("/")
    return room_of_file("/".join(place[1:])) if place[0] == "src" else place[0]


def closure(room, may_use):
    """Returns what a room may use, and what that uses: inline functions of one room are compiled into others."""
    found, new = set(), {room}
    while new:
        found |= new
        new = {other for name in new for other in may_use[name]} - found
    return found


def last_name(symbol):
    """"send" of "synfire::core::Layer::send(int) const"; of tables of a class, the name of the class."""
    symbol = re.sub(r"^(vtable|typeinfo( name)?|VTT|construction vtable|guard variable) for ", "", symbol)
    symbol = re.sub(r"\[abi:\w+\]| \[clone .*\]", "", symbol)
    while "<" in symbol:
        simpler = re.sub(r"<[^<>]*>", "", symbol)
        if simpler == symbol:
            break
        symbol = simpler
    name = symbol.split("(")[0].split("::")[-1].split()
    return name[-1].lstrip("~") if name else ""


def check_symbols(source, build, objects, nm, may_use=None):
    may_use = may_use or MAY_USE
    defined = collections.defaultdict(set)   # symbol: rooms
    strongly = collections.defaultdict(set)  # without inline functions, which every user defines
    used = collections.defaultdict(dict)     # symbol: room: an object
    for obj in objects:
        room = room_of(obj, build)
        result = subprocess.run([nm, "-C", obj], check=True, capture_output=True, text=True)
        for line in result.stdout.splitlines():
            match = re.match(r"[0-9a-fA-F]* *([A-Za-z]) (.*)", line)
            if not match:
                continue
            kind, symbol = match.groups()
            if kind in "Uwv":
                used[symbol].setdefault(room, obj)
            elif kind in "TDBRGSCViWu":
                defined[symbol].add(room)
                if kind in "TDBRGSC":
                    strongly[symbol].add(room)
    everywhere = set(may_use)  # beside capi and other folders above the rooms
    problems = []
    for symbol, users in sorted(used.items()):
        homes = defined.get(symbol)
        if not homes:
            continue  # of a system library
        for room, obj in sorted(users.items()):
            if room in everywhere and not homes & closure(room, may_use) and not GIVEN.match(symbol):
                problems.append(f"{posixpath.relpath(obj, build)} uses {symbol}, which is defined in "
                                f"{', '.join(sorted(homes))}: {room} may not use it")
    # Symbols that one room defines for another are declared in a header of its own.
    words = {room: set(re.findall(r"\w+", "".join(path.read_text(encoding="utf-8") for path in files_of(source, room)
                                                    if path.suffix in {".hpp", ".cuh"})))
             for room in everywhere if (source / "src" / room.split("/")[0]).is_dir()}
    for symbol, homes in sorted(strongly.items()):
        home = next(iter(homes))
        abroad = sorted(set(used.get(symbol, {})) - homes)
        if home in words and abroad and last_name(symbol) not in words[home] and not GIVEN.match(symbol):
            problems.append(f"{symbol} is defined in {home} and used in {', '.join(abroad)}, "
                            f"but no header of {home} declares it")
    return len(defined), problems


def main():
    source = pathlib.Path(sys.argv[1])
    kinds, problems = check_kinds(source)
    n_files, more = check_includes(source, kinds)
    problems += more + check_names(source) + check_picture(source)
    text = f"{n_files} files, {len(kinds)} kinds"
    nothing = n_files == 0
    if len(sys.argv) > 2:
        build, listed, nm = sys.argv[2:]
        objects = pathlib.Path(listed).read_text(encoding="utf-8").split("\n")
        n_symbols, more = check_symbols(source, build, [obj for obj in objects if obj], nm)
        problems += more
        text += f", {n_symbols} symbols"
        nothing |= n_symbols == 0
    for problem in problems:
        print(problem)
    print(f"{text}, {len(problems)} problems")
    return 1 if problems or nothing else 0


if __name__ == "__main__":
    sys.exit(main())
