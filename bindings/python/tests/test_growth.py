"""Operations that are added to synfire.h need no hand-written line of Python: a copy of the header with more of them goes
through the generator, into a copy of the package, which calls them in a library that only listens.

SPDX-License-Identifier: MIT
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
END = "/** @} */\n/** @cond PLATFORM */\n#ifdef __cplusplus\n}"
USE = """
import ctypes, inspect, sys
import synfire
from synfire import _api, _library, _objects

class Listens:
    calls = []
    def __getattr__(self, name):
        def function(*arguments):
            self.calls.append((name, arguments))
            return 0
        return function

_library._loaded = Listens()
context, graph, layer = (kind.__new__(kind) for kind in (synfire.Context, synfire.Graph, synfire.Layer))
for number, one in enumerate((context, graph, layer), 5):
    one._adopt(context, number)
spikes, rates = (synfire.Buffer.__new__(synfire.Buffer) for _ in range(2))
spikes._adopt(context, 11)
rates._adopt(context, 12)

def filled(name):
    return next(arguments for called, arguments in Listens.calls if called == name)

given = dict(steps=4, neurons=3, spikes=spikes, rates=rates, full_rate=0.5, delays=[1.0, 2.0])
context.decode_rate(**given)
handle, desc, stream = filled("synfire_decode_rate")
desc = desc._obj
assert (handle, stream) == (5, None)
assert (desc.struct_size, desc.n_steps, desc.n_neurons, desc.spikes, desc.rates) == (
    ctypes.sizeof(_api.synfire_decode_rate_desc), 4, 3, 11, 12)
assert (desc.full_rate, desc.n_delays) == (0.5, 2)
graph.decode_rate(**given)
assert filled("synfire_graph_record_decode_rate")[0] == 6
layer.leak_rows(rows=2)
graph.leak_rows(layer, first_row=1)
assert filled("synfire_graph_record_leak_rows")[:2] == (6, 7)
needed = [name for name, one in inspect.signature(synfire.Graph.decode_rate).parameters.items()
          if one.default is inspect.Parameter.empty]
assert sorted(needed) == ["full_rate", "neurons", "rates", "self", "steps"], needed
assert "Appends a decoding of spikes as rates." in synfire.Graph.decode_rate.__doc__
try:
    context.decode_rate(rates=rates, steps=4, neurons=3)
except TypeError as problem:
    assert "full_rate" in str(problem)
else:
    raise AssertionError("a required number may be left out")
for one in (spikes, rates, layer, graph, context):
    one._handle = None
print("grown")
"""


class Growth(unittest.TestCase):
    def test_new_operations(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            text = (ROOT / "include/synfire/synfire.h").read_text(encoding="utf-8")
            self.assertEqual(text.count(END), 1)
            more = (ROOT / "bindings/cpp/tests/decode_rate.h").read_text(encoding="utf-8")
            (folder / "synfire.h").write_text(text.replace(END, more + END), encoding="utf-8")
            shutil.copytree(str(HERE.parent / "synfire"), str(folder / "synfire"))
            subprocess.run([sys.executable, str(HERE.parent / "generate.py"), str(folder / "synfire.h"),
                            str(folder / "synfire")], check=True)
            done = subprocess.run([sys.executable, "-c", USE], cwd=str(folder), env={"PYTHONPATH": str(folder)},
                                  check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  universal_newlines=True)
            self.assertEqual(done.stdout.strip(), "grown", done.stderr)


if __name__ == "__main__":
    unittest.main()
