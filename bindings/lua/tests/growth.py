#!/usr/bin/env python3
"""A new function of synfire.h needs no line of Lua written by hand: growth.py LUAJIT CC LIBRARY

The header and the functions that bindings/rust/tests/new_function adds, for the same test in Rust, are added to copies here:
operations, an object with functions of its own, and functions of objects that are there. The generator makes a binding of
that header, and growth.lua runs with it.

SPDX-License-Identifier: MIT
"""
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
ADDED = ROOT / "bindings/rust/tests/new_function"
# And a pass over addresses, which has no record function.
PASS_H = """
/** A pass over an address. */
typedef struct synfire_touch_desc {
  uint32_t struct_size;
  int32_t negative SYNFIRE_FLAG;
  const float *x;
  void *y SYNFIRE_NULLABLE;
} synfire_touch_desc;
/** Touches an address. @since ABI 0.1 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_touch(synfire_layer layer, const synfire_touch_desc *desc,
                                                            synfire_stream stream SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;
"""
PASS_C = """#include <synfire/synfire.h>
synfire_status synfire_layer_touch(synfire_layer layer, const synfire_touch_desc *desc, synfire_stream stream) {
  if (!layer || stream || !desc->y) return SYNFIRE_ERROR_INVALID_ARGUMENT;
  *(float *)desc->y = desc->negative ? -desc->x[1] : desc->x[1];
  return SYNFIRE_OK;
}
"""


def main():
    luajit, compiler, library = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]).resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "synfire").mkdir()
        header = folder / "synfire/synfire.h"
        before, mark, after = (ROOT / "include/synfire/synfire.h").read_text(encoding="utf-8").rpartition("/** @} */")
        header.write_text(before + (ADDED / "added.h").read_text(encoding="utf-8") + PASS_H + mark + after, encoding="utf-8")
        subprocess.run([sys.executable, HERE.parent / "generate.py", header, folder], check=True)
        subprocess.run([sys.executable, HERE.parent / "generate.py", "--check", header, folder], check=True)
        whole, touch = folder / "libwhole.so", folder / "touch.c"
        touch.write_text(PASS_C, encoding="utf-8")
        subprocess.run([compiler, "-shared", "-fPIC", "-Wall", "-Werror", f"-I{folder}", "-o", whole, ADDED / "added.c", touch, library,
                        f"-Wl,-rpath,{library.parent}"], check=True)
        environment = os.environ | {"SYNFIRE_LIBRARY": str(whole), "LUA_PATH": f"{folder}/?.lua;;"}
        subprocess.run([luajit, HERE / "runner.lua", "growth"], check=True, env=environment)


if __name__ == "__main__":
    main()
