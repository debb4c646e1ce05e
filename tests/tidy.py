#!/usr/bin/env python3
"""Runs clang-tidy over every C and C++ file of the project: tidy.py BUILD

BUILD is a build folder that CMake has configured for clang, with SYNFIRE_UNITY. Prints each finding once, and a
summary. The exit status is 1 if there is a finding. Two things make it fast:

Groups. clang-tidy takes 5 s for a small test, nearly all of it for what <gtest/gtest.h> and the standard library
declare. So files with the same options and checks are checked as one text: all of their includes, so that headers are
parsed and checked once, and then each file. In tests and single programs (APART), each file is in a namespace of its
own, where its names cannot meet those of another. Other files are in one group only if their names differ, as those of
a target do for SYNFIRE_UNITY. If a group has a finding, the file that it is in is checked alone, and what is printed is
what that finds. If a group does not compile, all of its files are checked alone, and a note says why: ALONE, PLAIN and
NAMES keep files apart.

A cache of clean results, in ${XDG_CACHE_HOME:-~/.cache}/synfire/tidy. A text that had no finding is not checked again
while clang-tidy's version, its options, its checks and all files that it includes are the same, in this or another
clone. Findings are not kept. Results that nothing has used for 30 days are removed.

Left out are kernels (.cu), because clang 14 cannot read the headers of CUDA newer than 11.5, and the programs in the
tests of bindings/, because they include headers that these tests write.

SPDX-License-Identifier: MIT
"""
import concurrent.futures
import dataclasses
import gzip
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[1]

# Files that include headers which a build makes; nothing is built here.
GENERATED_HEADERS = {ROOT / name for name in ("tests/abi/init_macros.c", "tests/abi/layout.c", "tests/abi/struct_sizes.cpp",
                                               "tests/capi/call_watch.cpp", "tests/host/call_watch.c")}

# Files that CMake compiles in projects of their own or not at all, and the files whose options they get.
LIKE = {
    "docs/examples/models/fit.c": "docs/examples/quickstart.c",
    "tests/abi/header_alone.c": "docs/examples/quickstart.c",
    "tests/added/added_test.cpp": "tests/capi/parameter_test.cpp",
    "tests/added/examples_test.cpp": "tests/capi/parameter_test.cpp",
    "tests/added/further_states_test.cpp": "tests/capi/parameter_test.cpp",
    "tests/hpp/positional.cpp": "tests/hpp/wrapper_test.cpp",
    "tests/install/consumer/main.c": "docs/examples/quickstart.c",
    "tests/install/consumer/main.cpp": "tests/hpp/wrapper_test.cpp",
    "tools/bench/bare_none.cpp": "tools/bench/main.cpp",
    "tools/bench/cublas_none.cpp": "tools/bench/main.cpp",
}

# Files that no group can have: learning_graph.h needs require(), which they define before they include it; others have
# read(), check() or is_long() as headers of other files have, or replace malloc(), or are programs.
ALONE = {"src/synapses/one_to_one/one_to_one_host.cpp", "src/synapses/population/population_host.cpp",
         "tests/capi/learning_graph_test.cpp", "tests/capi/optimizer_test.cpp", "tests/fault/hot_path_test.cpp",
         "tests/fault/learning_test.cpp", "tests/host/chain_work_test.cpp", "tests/install/consumer/main.cpp",
         "tests/ranks/mpi_ranks.cpp"}

# Files that are in namespaces of their own in a group. The others define what a header declares, which would be taken
# for another function and not be compared with its declaration, or
PLAIN = {
    "tests/capi/errors/": "use a nan that is found before that of <cmath> only in its namespace",
    "tests/fault/own_kind_test.cpp": "specialise a template of the library",
    "tests/hpp/allocation_test.cpp": "replace operator new",
    "tests/order/plan_test.cpp": "specialise a template of the library",
    "tests/hpp/header_alone.cpp": "instantiate templates of synfire.hpp",
    "tests/model/exact_fma_test.cpp": "include a header that has an is_finite, as another has",
}
APART = re.compile(rf"(?!{'|'.join(PLAIN)})(tests/.*_test[.]cpp|docs/examples/[^/]*)$")

# Names that files of these folders define outside unnamed namespaces, so that two of them cannot be in one group.
NAMES = {
    "src/operations/gather_rows/": {"gather_threads"},
    "src/neurons/sum_gradient/": {"ReduceLaunch"},
    "src/operations/reduce/": {"ReduceLaunch"},
    "src/synapses/dense/": {"gather_threads"},
    "tests/files/counted_new.cpp": {"operator new"},
    "tests/files/fuzz_": {"LLVMFuzzerTestOneInput"},
    "tests/hpp/allocation_test.cpp": {"operator new"},
    "tests/twins/dense_twins.cpp": {"gather_threads"},
    "tests/twins/gather_rows_": {"gather_threads"},
    "tests/twins/reduce_": {"ReduceLaunch"},
    "tests/twins/sum_gradient_": {"ReduceLaunch"},
    "tools/bench/cublas_": {"Cublas"},
}

GROUP_SIZE = 20  # files: more take less time in all, but more again after a change of one
SMALL = 5  # files: folders with fewer share groups

FINDING = re.compile(r"^(.+?):(\d+):\d+: (warning|error|fatal error): ")
PLACE = re.compile(r"^((?:In file included from )?)(.+?):(\d+)(?=[:,])")


def relative(path):
    return os.path.relpath(path, ROOT)


# ---- Units: what one run of clang-tidy checks ------------------------------------------------------------------------


@dataclasses.dataclass
class Unit:
    files: list  # the paths, relative to ROOT
    arguments: list
    checks: str
    text: pathlib.Path  # what is checked: the only file itself, or a generated text
    lines: list = dataclasses.field(default_factory=list)  # (file, line) of each line of a generated text


NO_MATTER = re.compile("-c|-MD|-O.?|-fPI[CE]|-fno-builtin|-f(no-)?sanitize.*|-DGTEST_HAS_PTHREAD=1")


def options(command, file):
    """A command's options, without those that make no difference to a check."""
    arguments, result = iter(shlex.split(command)[1:]), []
    for argument in arguments:
        if argument in {"-o", "-MF", "-MT"}:
            next(arguments)
        elif argument != file and not NO_MATTER.fullmatch(argument):
            result.append(argument)
    return result


def commands(build):
    """The options of each file. A file that is compiled for several programs or instruction levels has one entry."""
    once, together = {}, set()
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        path = pathlib.Path(entry["file"])
        if path.parent.name == "Unity":
            files = set(re.findall(r'^#include "(.+)"$', path.read_text(encoding="utf-8"), flags=re.M))
            # Others are copies that a build makes.
            if any(ROOT / "build" not in pathlib.Path(file).parents for file in files):
                once[relative(path)] = options(entry["command"], entry["file"])
                together |= files
        elif path in GENERATED_HEADERS:
            continue
        elif path.suffix in {".c", ".cpp"} and ROOT in path.parents and ROOT / "build" not in path.parents:
            once[relative(path)] = options(entry["command"], entry["file"])
    for path in together:
        once.pop(relative(path), None)
    for file, other in LIKE.items():
        once.setdefault(file, once[other])
    return once


def directories(arguments):
    """Splits options into the rest and those that name folders of headers."""
    rest, found, arguments = [], [], iter(arguments)
    for argument in arguments:
        if argument in {"-I", "-isystem"}:
            found.append((argument, next(arguments)))
        elif argument.startswith("-I"):
            found.append(("-I", os.path.normpath(argument[2:])))
        else:
            rest.append(argument)
    return rest, found


def plan(build, checks_of):
    """The units of all files. checks_of(file) is the text of the checks that apply to it."""
    families, units = {}, []
    for file, arguments in commands(build).items():
        checks = checks_of(file)
        if file.endswith(".cpp") and file not in ALONE and not unused((ROOT / file).read_text(encoding="utf-8")):
            rest, found = directories(arguments)
            key = os.path.dirname(file), bool(APART.match(file)), checks, *rest
            if match := re.match("src/(neurons|operations|synapses)/", file):  # its folders are parts of one
                key = match[0], *key[1:]
            family = families.setdefault(key, ([], {}))
            family[0].append(file)
            family[1].update(dict.fromkeys(found))
        else:
            units.append(alone(file, arguments, checks))
    for key in sorted(key for key, (files, _) in families.items() if len(files) < SMALL):
        files, found = families.pop(key)
        family = families.setdefault((key[0].split("/")[0], *key[1:]), ([], {}))
        family[0].extend(files)
        family[1].update(found)
    for number, ((_, apart, checks, *rest), (files, found)) in enumerate(sorted(families.items())):
        arguments = rest + [word for kind in ("-I", "-isystem") for pair in found if pair[0] == kind for word in pair]
        for part, members in enumerate(parts(files, apart)):
            if len(members) == 1:
                units.append(alone(members[0], arguments, checks))
            else:
                units.append(group(members, arguments, checks, apart, build / f"units/{number}_{part}.cpp"))
    return units


def parts(files, apart):
    """Divides files among groups, by their names, so that one more file changes one group. Two files with a name in
    common in their unnamed namespaces are not in one group, unless files are in namespaces of their own."""
    count = -(-len(files) // GROUP_SIZE)
    result = [([], set()) for _ in range(count)]
    for file in sorted(files):
        names = set()
        if not apart:
            names = unnamed((ROOT / file).read_text(encoding="utf-8"))
            names.update(*(also for start, also in NAMES.items() if file.startswith(start)))
        first = zlib.crc32(file.encode()) % count
        fitting = [part for part in result[first:count] + result[:first] + result[count:] if not part[1] & names]
        if not fitting:
            result.append(fitting := ([], set()))
            fitting = [fitting]
        fitting[0][0].append(file)
        fitting[0][1].update(names)
    return [members for members, _ in result if members]


def unnamed(source):
    """The names that a formatted file declares in unnamed namespaces: those before one of =({[; in declarations, which
    begin at the beginning of a line."""
    inside = "".join(re.findall(r"^namespace \{\n(.*?)^\}  // namespace$", source, flags=re.M | re.S))
    heads = re.findall(r"^(?!namespace |using [^=]*;|(?-i:[A-Z_0-9]+\())[a-z][^({;]*[({;]", inside, flags=re.M | re.I)
    return {name for head in heads for name in re.findall(r"(\w+)(?= *[=({\[;])", re.sub(r"= *[^,;({]*", "=", head))}


def unused(source):
    """The using-declarations of a file that nothing else in it mentions: in a group, the use in another file would hide
    that from misc-unused-using-decls."""
    source = re.sub(r"//.*", "", source)
    return [name for name in re.findall(r"^using [\w:]+::(\w+);", source, flags=re.M)
            if len(re.findall(rf"\b{name}\b", source)) == 1]


def alone(file, arguments, checks):
    return Unit([file], arguments, checks, ROOT / file)


def group(files, arguments, checks, apart, text):
    """Writes the text of several files as one. In it, a name of one file may hide that of another, and main() is not that of a
    program, which returns 0 without saying so; g++ warns of both."""
    unit, lines = Unit(files, [*arguments, "-Wno-shadow", "-Wno-return-type"], checks, text), []

    def add(line, file, number):
        lines.append(line)
        unit.lines.append((file, number))

    sources = {file: (ROOT / file).read_text(encoding="utf-8").split("\n") for file in files}
    for index, (file, source) in enumerate(sources.items()):
        folder, continued = (ROOT / file).parent, False
        for number, line in enumerate(source):
            if match := re.match(r'( *# *include +)"(.+)"', line):
                if (folder / match[2]).is_file():
                    line = source[number] = f'{match[1]}"{folder / match[2]}"'
            if continued or re.match(r" *# *(include|if|ifdef|ifndef|elif|else|endif)\b", line):
                add(line, file, number + 1)
                continued = line.endswith("\\")
        add(f"#define SYNFIRE_TIDY_{index}", file, 1)  # a duplicate is one within a file: readability-duplicate-include
    for index, (file, source) in enumerate(sources.items()):
        before, after = f"#define SYNFIRE_TIDY_FILE_{index}", ""
        if apart:  # what headers declare in a namespace is found in the one of the same name, too
            opened = re.findall(r"^ *namespace +([\w:]+) *\{", "\n".join(source), flags=re.M)
            ends = {name: [*(colons.start() for colons in re.finditer("::", name)), None] for name in opened}
            names = sorted({name[:end] for name in opened for end in ends[name]})
            declared = "".join(f"namespace {name} {{}} " for name in names)
            found = "".join(f"namespace {name} {{ using namespace ::{name}; }} " for name in names)
            add(before, file, 1)
            before, after = f"{declared} namespace synfire_tidy_{index} {{ {found}", "}"
        add(before, file, 1)
        for number, line in enumerate(source):
            add(line, file, number + 1)
        add(after, file, len(source))
        for name in dict.fromkeys(re.findall(r"^ *# *define +(\w+)", "\n".join(source), flags=re.M)):
            add(f"#undef {name}", file, len(source))
    text.parent.mkdir(parents=True, exist_ok=True)
    text.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return unit


# ---- The cache of clean results --------------------------------------------------------------------------------------


class Cache:
    """The last clean results of each unit, by a key of all but what files contain: the files that were read, and one
    digest of what they contained. A path in the project is relative to it, and a generated text is taken without the
    project's path, so that other clones find the same."""

    RESULTS = 4  # of each unit: those of a few branches
    DAYS = 30

    def __init__(self, folder, root, version):
        self.folder, self.root, self.version = folder, root, version
        self.digests = {}
        self.begun = time.time()

    def key(self, unit):
        options = [argument.replace(str(self.root), "ROOT") for argument in unit.arguments]
        described = json.dumps([self.version, unit.checks, options, unit.files])
        return self.folder / (hashlib.sha256(described.encode()).hexdigest() + ".json.gz")

    def digest_of(self, file):
        if file not in self.digests:
            content = (self.root / file).read_bytes()
            if file.startswith("build/"):
                content = content.replace(bytes(self.root), b"ROOT")
            self.digests[file] = hashlib.sha256(content).hexdigest()
        return self.digests[file]

    def digest(self, files):
        return hashlib.sha256("".join(f"{file}\0{self.digest_of(file)}\n" for file in files).encode()).hexdigest()

    def results(self, entry):
        try:
            return json.loads(gzip.decompress(entry.read_bytes()))
        except (OSError, EOFError, ValueError, zlib.error):
            return []

    def has(self, unit):
        entry = self.key(unit)
        for files, digest in self.results(entry):
            try:
                if self.digest(files) == digest:
                    os.utime(entry)
                    return True
            except OSError:
                pass  # a file is no longer there
        return False

    def keep(self, unit, read):
        """Records that the unit, which has read these files, is clean, unless one was written in the meantime."""
        files = sorted({os.path.normpath(file) for file in read})
        files = [os.path.relpath(file, self.root) if file.startswith(f"{self.root}/") else file for file in files]
        if any((self.root / file).stat().st_mtime > self.begun for file in files):
            return
        entry, result = self.key(unit), [files, self.digest(files)]
        others = [other for other in self.results(entry) if other != result]
        self.folder.mkdir(parents=True, exist_ok=True)
        written = entry.with_suffix(f".{os.getpid()}")
        written.write_bytes(gzip.compress(json.dumps([result, *others][: self.RESULTS]).encode()))
        written.replace(entry)

    def prune(self):
        for entry in self.folder.glob("*"):
            if entry.stat().st_mtime < time.time() - self.DAYS * 86400:
                entry.unlink(missing_ok=True)


# ---- Checking --------------------------------------------------------------------------------------------------------


def tidy(unit, depends):
    """Runs clang-tidy: whether it is content, what it printed, and the files that it read."""
    command = ["clang-tidy", "--quiet", f"--config={unit.checks}", str(unit.text), "--", *unit.arguments]
    ran = subprocess.run([*command, f"-Wp,-MD,{depends}"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         encoding="utf-8", check=False)
    counts = re.compile(r"\d+ warnings?( and \d+ errors?)? generated\.")
    printed = [line for line in ran.stdout.splitlines() if not counts.fullmatch(line)]
    rule = depends.read_text(encoding="utf-8") if depends.exists() else ""
    read = [word.replace("\\ ", " ") for word in re.findall(r"(?:\\ |\S)+", rule.replace("\\\n", " "))][1:]
    return ran.returncode == 0 and not any(map(FINDING.match, printed)), printed, read


def findings(unit, printed):
    """Returns the findings of clang-tidy, with the places in a generated text as those in its files: one string for each,
    and the files of the unit that these are in."""
    result, files = [], set()
    for line in printed:
        if (place := PLACE.match(line)) and unit.lines and place[2] == str(unit.text):
            file, number = unit.lines[int(place[3]) - 1]
            line = f"{place[1]}{ROOT / file}:{number}{line[place.end():]}"
            if FINDING.match(line):
                files.add(file)
        if FINDING.match(line) or not result:
            result.append(line)
        else:
            result[-1] += "\n" + line
    return result, files


class Run:
    def __init__(self, build, cache):
        self.build, self.cache = build, cache
        self.units = self.kept = 0
        self.notes, self.found, self.suspects = [], {}, {}

    def check(self, unit):
        """Checks a unit and returns those that are to be checked after it."""
        self.units += 1
        if self.cache.has(unit):
            self.kept += 1
            return self.is_clean(unit)
        name = hashlib.sha256(str(unit.text).encode()).hexdigest()[:16]
        clean, printed, read = tidy(unit, self.build / f"units/{name}.d")
        if clean:
            self.cache.keep(unit, read)
            return self.is_clean(unit)
        found, files = findings(unit, printed)
        if len(unit.files) == 1:
            self.found.update(dict.fromkeys(found))
            return []
        broken = [finding for finding in found if "[clang-diagnostic-error]" in finding]
        if broken or not found:
            self.notes.append(f"do not compile as one: {' '.join(unit.files)}:\n" + "\n".join(broken))
            files = set(unit.files)
        else:
            for finding in found:
                place = FINDING.match(finding)
                if place and relative(place[1]) in unit.files:
                    self.suspects.setdefault(relative(place[1]), []).append(finding)
                else:
                    self.found[finding] = None
        return [alone(file, unit.arguments, unit.checks) for file in sorted(files)]

    def is_clean(self, unit):
        if len(unit.files) == 1 and unit.files[0] in self.suspects:
            self.notes.append("found in a group, not in the file alone:\n" + "\n".join(self.suspects[unit.files[0]]))
        return []

    def all(self, units):
        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            while units:
                units = [after for result in pool.map(self.check, units) for after in result]


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    (build / "units").mkdir(exist_ok=True)
    version = subprocess.run(["clang-tidy", "--version"], stdout=subprocess.PIPE, encoding="utf-8", check=True).stdout
    checks = {}

    def checks_of(file):
        folder = os.path.dirname(file)
        if folder not in checks:
            dumped = subprocess.run(["clang-tidy", "--dump-config", f"{ROOT / folder}/any.cpp", "--"],
                                    stdout=subprocess.PIPE, encoding="utf-8", check=True).stdout
            # clang-tidy 14 does not read the value that it prints for the second.
            left_out = r"^User: .*\n|^ *- key: *misc-throw-by-value-catch-by-reference.MaxSize\n.*\n"
            checks[folder] = re.sub(left_out, "", dumped, flags=re.M)
        return checks[folder]

    units = plan(build, checks_of)
    units.sort(key=lambda unit: -len(unit.files))
    cache = Cache(pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "synfire/tidy",
                  ROOT, version)
    run = Run(build, cache)
    run.all(units)
    cache.prune()
    for text in [*run.notes, *run.found]:
        print(text)
    notes = f", {len(run.notes)} notes in the log" if run.notes else ""
    print(f"{run.units} units, {run.kept} from the cache, {len(run.found)} findings{notes}")
    sys.exit(1 if run.found else 0)


if __name__ == "__main__":
    main()
