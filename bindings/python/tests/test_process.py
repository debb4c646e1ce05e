"""Threads, forks, and a library that is missing or another one.

SPDX-License-Identifier: MIT
"""
import gc
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np

import synfire
from synfire import _arrays, _library

FOREIGN = os.environ.get("SYNFIRE_FOREIGN_LIBRARIES", "")


def python(program, **environment):
    """Runs a program in a process of its own."""
    return subprocess.run([sys.executable, "-c", program], env={**os.environ, **environment}, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, timeout=120)


class Processes(unittest.TestCase):
    def test_threads_have_errors_of_their_own(self):
        context = synfire.Context("host", threads=1)
        problems, results = [], []

        def work(number):
            layer = synfire.Layer(context, steps=4, neurons=64 + number)
            x = np.full((4, 64 + number), 2.5, np.float32)
            for _ in range(20):
                spikes = np.zeros_like(x)
                layer.forward(x=x, spikes=spikes, v_init=np.zeros(64 + number, np.float32))
                results.append(int(spikes.sum()) == 4 * (64 + number))
                try:
                    synfire.Layer(context, steps=4, neurons=-1 - number)
                except synfire.InvalidArgumentError as problem:
                    problems.append(f" {-1 - number}" in problem.text)
        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        self.assertEqual((len(results), all(results), len(problems), all(problems)), (80, True, 80, True))

    @unittest.skipUnless(hasattr(os, "fork"), "no fork on this system")
    def test_fork_with_a_live_context(self):
        context = synfire.Context("host", threads=2)
        layer = synfire.Layer(context, steps=16, neurons=4096)
        x = np.full((16, 4096), 2.5, np.float32)
        wanted = layer(x)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                # The parent's objects may work or be refused, but may not hang or crash. A context of the child works.
                try:
                    layer(x)
                except synfire.SynfireError:
                    pass
                with synfire.Context("host", threads=2) as own:
                    status = 0 if (synfire.Layer(own, steps=16, neurons=4096)(x) == wanted).all() else 2
                del layer, context
                gc.collect()
            finally:
                os._exit(status)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        layer.reset_state()
        self.assertTrue((layer(x) == wanted).all())

    @unittest.skipUnless(hasattr(os, "fork"), "no fork on this system")
    def test_fork_while_another_thread_holds_a_lock(self):
        context = synfire.Context("host", threads=1)
        held, done = threading.Event(), threading.Event()

        def hold():
            with _arrays._lent_lock, _library._lock:
                held.set()
                done.wait(60)
        thread = threading.Thread(target=hold)
        thread.start()
        held.wait(60)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                signal.alarm(30)  # ends a child that hangs
                _library._loaded = None
                with synfire.Context("host", threads=1) as own:
                    status = 0 if synfire.Buffer.of(own, np.ones(3, np.float32)).download().sum() == 3 else 2
            finally:
                os._exit(status)
        done.set()
        thread.join()
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        context.close()

    def test_folder_without_a_library(self):
        program = ("import os, synfire, synfire._library as one\n"
                   "try:\n    synfire.version_string()\nexcept synfire.LibraryError as problem:\n"
                   "    print(all(name in str(problem) for name in one.library_names()))\n"
                   f"os.environ['SYNFIRE_LIBRARY'] = {os.environ.get('SYNFIRE_LIBRARY', '')!r}\n"
                   "print(len(synfire.version_string()) > 0)")
        with tempfile.TemporaryDirectory() as folder:
            done = python(program, SYNFIRE_LIBRARY=folder)
        self.assertEqual(done.stdout.split(), ["True", "True"], done.stderr)

    def test_library_that_is_missing(self):
        done = python("import synfire\ntry:\n    synfire.Context()\nexcept synfire.LibraryError as problem:\n"
                      "    print(problem)", SYNFIRE_LIBRARY="/nowhere/at/all.so")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("/nowhere/at/all.so", done.stdout)
        self.assertIn("SYNFIRE_LIBRARY is set", done.stdout)

    def test_file_that_is_no_library(self):
        done = python("import synfire\ntry:\n    synfire.version_string()\nexcept ImportError as problem:\n"
                      "    print(problem)", SYNFIRE_LIBRARY=__file__)
        self.assertIn("could not be loaded", done.stdout, done.stderr)

    @unittest.skipUnless(FOREIGN, "SYNFIRE_FOREIGN_LIBRARIES names no folder")
    def test_other_libraries(self):
        for name, words in (("newer_major", "has ABI 99.0"), ("older_minor", "with x at least"),
                            ("incomplete", "but has no synfire_")):
            file = next(pathlib.Path(FOREIGN).glob(f"*bindings-{name}.so"))
            done = python("import synfire\ntry:\n    synfire.version_string()\nexcept synfire.LibraryError as problem:\n"
                          "    print(problem)", SYNFIRE_LIBRARY=str(file))
            self.assertIn(words, done.stdout, done.stderr)

    def test_neither_numpy_nor_torch_is_imported(self):
        done = python("import sys, synfire\nprint(sorted({'numpy', 'torch', 'tqdm'} & set(sys.modules)))\n"
                      "synfire.Layer(synfire.Context('host'), steps=1, neurons=1)['tau'] = 3\n"
                      "print('numpy' in sys.modules)")
        self.assertEqual(done.stdout.split(), ["[]", "False"], done.stderr)

    def test_exit_with_open_objects(self):
        done = python("import synfire, numpy as np\ncontext = synfire.Context('host', threads=2)\n"
                      "layer = synfire.Layer(context, steps=2, neurons=3)\ngraph = synfire.Graph(context)\n"
                      "x = synfire.Buffer.of(context, np.zeros((2, 3), np.float32))\n"
                      "graph.forward(layer, x=x)\ngraph.native(lambda call: None, reads=[x])\ngraph.instantiate()\n"
                      "graph.replay()\nprint('ran')")
        self.assertEqual((done.returncode, done.stdout.strip()), (0, "ran"), done.stderr)


if __name__ == "__main__":
    unittest.main()
