#!/usr/bin/env python3
"""A declaration that is added to the header is in every list that the tests go through: list_test.py CC CXX

A copy of synfire.h gets operations, an object, an element of lists and constants. Each of them must be in the output of
layout.c, the operations and the object in the lists of what is made without enough memory and of what is called with forged
handles, and the operands in what capi/generate.py writes. A new structure without an initialiser, without a line in
capi/struct_sizes.hpp, or without a size for ever must not compile; and a program of which no call is made must learn of
every new function and place from the list of watched calls. Without the additions all of it compiles.

SPDX-License-Identifier: MIT
"""
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
END = "/** @} */\n/** @cond PLATFORM */\n#ifdef __cplusplus\n}"
INIT = """\
#define SYNFIRE_SMOOTH_DESC_INIT {sizeof(synfire_smooth_desc), 0, 0, 0, 0}
#define SYNFIRE_FADE_DESC_INIT {sizeof(synfire_fade_desc), 0, 0, 0, 0, 0}
"""
ADDED = """
/** A smoother. */
typedef struct synfire_smoother_s *synfire_smoother;
enum {
  /** It is not. */
  SYNFIRE_SMOOTHNESS_NONE = 0,
  /** It is. */
  SYNFIRE_SMOOTHNESS_FULL = 17
};
enum {
  /** At the same speed. */
  SYNFIRE_FADING_EVEN = 0,
  /** Ever faster. */
  SYNFIRE_FADING_FASTER = 1
};
/** A source with its weight. */
typedef struct synfire_weighted {
  /** A source. */
  synfire_buffer source SYNFIRE_READ("[N]");
  /** Its weight. */
  double weight;
} synfire_weighted;
/** How to smooth. */
typedef struct synfire_smooth_desc {
  /** `sizeof(synfire_smooth_desc)`. */
  uint32_t struct_size;
  /** How many. */
  uint32_t n_sources SYNFIRE_LENGTH_OF(sources);
  /** What is smoothed. */
  const synfire_weighted *sources;
  /** The result. */
  synfire_buffer smoothed SYNFIRE_WRITTEN("[N]");
  /** What smooths. */
  synfire_smoother smoother;
} synfire_smooth_desc;
/** Creates a smoother. @since ABI 9.9 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_smoother_create(synfire_context context, const synfire_smooth_desc *desc,
                                                                synfire_smoother *smoother) SYNFIRE_NOEXCEPT;
/** Destroys one. @since ABI 9.9 */
SYNFIRE_API void SYNFIRE_CALL synfire_smoother_destroy(synfire_smoother smoother) SYNFIRE_NOEXCEPT;
/** Appends a smoothing. @since ABI 9.9 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_smooth(synfire_graph graph,
                                                                    const synfire_smooth_desc *desc) SYNFIRE_NOEXCEPT;
/** How to fade. */
typedef struct synfire_fade_desc {
  /** `sizeof(synfire_fade_desc)`. */
  uint32_t struct_size;
  /** 1: the other way round. */
  int32_t inverted SYNFIRE_FLAG;
  /** What fades. */
  synfire_buffer source SYNFIRE_UPDATED("[N]");
  /** Where. */
  synfire_buffer mask SYNFIRE_READ("[N]") SYNFIRE_NULLABLE;
  /** How smoothly. */
  int32_t smoothness SYNFIRE_ONE_OF(SYNFIRE_FADING);
  /** How long. */
  int32_t n_steps SYNFIRE_REQUIRED;
} synfire_fade_desc;
/** Fades now. @since ABI 9.9 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_fade(synfire_context context, const synfire_fade_desc *desc,
                                                     synfire_stream stream SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;
/** Appends a fading. @since ABI 9.9 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_fade(synfire_graph graph,
                                                                  const synfire_fade_desc *desc) SYNFIRE_NOEXCEPT;
"""
PLACES = {"synfire_smoother_create: context", "synfire_smoother_create: desc.sources[].source",
          "synfire_smoother_create: desc.smoothed", "synfire_smoother_create: desc.smoother",
          "synfire_smoother_destroy: smoother", "synfire_graph_record_smooth: graph",
          "synfire_graph_record_smooth: desc.sources[].source", "synfire_graph_record_smooth: desc.smoothed",
          "synfire_graph_record_smooth: desc.smoother", "synfire_graph_record_fade: graph",
          "synfire_graph_record_fade: desc.source", "synfire_graph_record_fade: desc.mask", "synfire_fade: context",
          "synfire_fade: desc.source", "synfire_fade: desc.mask"}
FUNCTIONS = {"synfire_smoother_create", "synfire_smoother_destroy", "synfire_graph_record_smooth", "synfire_graph_record_fade",
             "synfire_fade"}
# Lists of tests that run out of memory, and of those that make calls of every operation.
MADE = ("OPERATION(synfire_graph_record_smooth, synfire_nothing)", "OPERATION(synfire_graph_record_fade, synfire_fade)",
        "CREATE(synfire_smoother_create, synfire_smoother_destroy)")
CALLS = ('world.expect_refused("synfire_fade: desc.mask"', 'world.expect_refused("synfire_graph_record_smooth: desc.sources[].source"',
         "world.sample(\"synfire_graph_record_fade\", desc, {&synfire_fade_desc::source}", "desc.n_steps = 2;")
LINES = {"constant\tSYNFIRE_SMOOTHNESS_FULL\t17", "type\tsynfire_smoother\t8", "struct\tsynfire_weighted\t16",
         "field\tsynfire_weighted.weight\t8\t8", "struct\tsynfire_smooth_desc\t32", "field\tsynfire_smooth_desc.smoother\t24\t8"}
# Lines of capi/operands.hpp for a descriptor that has nothing special.
OPERANDS = ("struct Operands<synfire_fade_desc> {", 'source(required(desc.source, "desc.source", context))',
            'mask(optional(desc.mask, "desc.mask", context))', 'check_flag(desc.inverted, "SYN-FADE-FLAG", "desc.inverted");',
            'check_choice(desc.smoothness, "SYN-FADE-SMOOTHNESS", "desc.smoothness", SYNFIRE_FADING_EVEN, SYNFIRE_FADING_FASTER,',
            '"SYNFIRE_FADING_EVEN (0) and _FASTER (1)");', "const HeldList<synfire_weighted> sources;")
# A program that makes no call, and prints what its watch misses.
MISSED = """
#include <call_watch.hpp>

#include <cstdio>

int main() {
  const synfire_test::CallWatch watch;
  for (const auto& one : watch.functions_not_called()) std::printf("%s\\n", one.c_str());
  for (const auto& one : watch.places_not_seen()) std::printf("%s\\n", one.c_str());
}
"""


class Copy:
    """The lists of a header with additions, and the programs that are compiled with them."""

    def __init__(self, folder, text, compilers):
        self.folder, (self.cc, self.cxx) = folder, compilers
        (folder / "synfire").mkdir(parents=True)
        header = folder / "synfire/synfire.h"
        header.write_text(text, encoding="utf-8")
        subprocess.run([sys.executable, HERE / "generate.py", folder, header], check=True)

    def compiled(self, compiler, *sources, run=True):
        """Returns true if it compiles, and what it prints then, or the compiler's words."""
        target = ["-o", self.folder / "program"] if run else ["-fsyntax-only"]
        standard = ["-std=c++20"] if compiler == self.cxx else ["-std=c11"]
        made = subprocess.run([compiler, *standard, *target, f"-I{self.folder}", f"-I{ROOT / 'capi'}", f"-I{ROOT / 'tests/capi'}",
                               *sources], capture_output=True, text=True, check=False)
        if made.returncode or not run:
            return made.returncode == 0, made.stderr
        return True, subprocess.run([self.folder / "program"], capture_output=True, text=True, check=True).stdout

    def expect(self, what, good, *arguments, says="", **options):
        is_good, text = self.compiled(*arguments, **options)
        if is_good != good or says not in text:
            sys.exit(f"{what} {'does not compile' if good else 'compiles or says something else'}:\n{text}")
        return text


def main():
    compilers = sys.argv[1:3]
    header = (ROOT / "include/synfire/synfire.h").read_text(encoding="utf-8")
    if header.count(END) != 1:
        sys.exit("the end of synfire.h looks different")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        missed = folder / "missed.cpp"
        missed.write_text(MISSED, encoding="utf-8")
        watch = [missed, ROOT / "tests/capi/call_watch.cpp"]
        today = Copy(folder / "today", header, compilers)
        today.expect("struct_sizes.cpp", True, today.cxx, HERE / "struct_sizes.cpp", run=False)
        before = set(today.expect("the watch", True, today.cxx, *watch).splitlines())

        added = Copy(folder / "added", header.replace(END, INIT + ADDED + END), compilers)
        lines = set(added.expect("layout.c", True, added.cc, HERE / "layout.c").splitlines())
        if not LINES <= lines:
            sys.exit(f"layout.c does not print {sorted(LINES - lines)}")
        added.expect("init_macros.c", True, added.cc, HERE / "init_macros.c")
        for name in ("synfire_smooth_desc", "synfire_weighted"):
            added.expect("struct_sizes.cpp", False, added.cxx, HERE / "struct_sizes.cpp", run=False, says=name)
        new = set(added.expect("the watch", True, added.cxx, *watch).splitlines()) - before
        if new != PLACES | FUNCTIONS:
            sys.exit(f"the watch misses {sorted(new ^ (PLACES | FUNCTIONS))}")
        watched = (added.folder / "watched_calls.cpp").read_text(encoding="utf-8")
        options = (added.folder / "watched_calls.options").read_text(encoding="utf-8")
        for name in FUNCTIONS:
            if f"__wrap_{name}(" not in watched or f"--wrap={name}\n" not in options:
                sys.exit(f"nothing is called in place of {name}")
        for name, lines in (("synfire_abi.def", MADE), ("operation_calls.hpp", CALLS)):
            written = (added.folder / name).read_text(encoding="utf-8")
            for line in lines:
                if line not in written:
                    sys.exit(f"{name} does not have '{line}'")
        calls = added.folder / "calls.cpp"
        calls.write_text('#include "operation_calls.hpp"\n', encoding="utf-8")
        added.expect("operation_calls.hpp", True, added.cxx, calls, run=False)
        added.expect("watched_calls.cpp", True, added.cxx, added.folder / "watched_calls.cpp", run=False)

        subprocess.run([sys.executable, ROOT / "capi/generate.py", added.folder / "synfire/synfire.h",
                        added.folder / "operands.hpp"], check=True)
        operands = (added.folder / "operands.hpp").read_text(encoding="utf-8")
        for line in OPERANDS:
            if line not in operands:
                sys.exit(f"capi/operands.hpp would not have '{line}'")

        bare = Copy(folder / "bare", header.replace(END, ADDED + END), compilers)
        bare.expect("init_macros.c", False, bare.cc, HERE / "init_macros.c", run=False, says="SYNFIRE_SMOOTH_DESC_INIT")
    print(f"{len(LINES)} lines of the layout, {len(FUNCTIONS)} functions and {len(PLACES)} places")


if __name__ == "__main__":
    main()
