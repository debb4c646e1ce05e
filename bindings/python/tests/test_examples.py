"""The programs print and write what their twins in C do.

SPDX-License-Identifier: MIT
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

EXAMPLES = pathlib.Path(__file__).resolve().parents[1] / "examples"
PROGRAMS = pathlib.Path(os.environ["SYNFIRE_PROGRAMS"])


def run(command, folder):
    done = subprocess.run([str(word) for word in command], cwd=str(folder), check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True, timeout=600,
                          env={**os.environ, "MPLBACKEND": "agg"})
    if done.returncode:
        raise AssertionError(done.stderr)
    return done.stdout


class Examples(unittest.TestCase):
    def compare(self, name, program=None, file=None):
        with tempfile.TemporaryDirectory() as folder:
            ours = run([sys.executable, EXAMPLES / f"{name}.py"], folder)
            of_ours = (pathlib.Path(folder) / file).read_bytes() if file else None
            theirs = run([PROGRAMS / (program or name)], folder)
            self.assertEqual(ours, theirs)
            if file:
                self.assertEqual(of_ours, (pathlib.Path(folder) / file).read_bytes())
        return ours

    def test_quickstart(self):
        # On the host a replay is done when launch() returns, so no frame is late, however slow the machine is.
        self.assertIn(" 0 late", self.compare("quickstart"))

    def test_network(self):
        self.compare("network", file="network.safetensors")

    def test_senses_pictures_and_policy(self):
        self.compare("senses")
        self.compare("pictures")
        self.compare("policy")

    def test_tuning(self):
        self.compare("tuning", file="body.safetensors")

    def test_watch(self):
        self.compare("watch")

    def test_train(self):
        self.assertEqual(len(self.compare("train", "bindings-train").splitlines()), 60 + 128)

    def test_ranks(self):
        lines = run([sys.executable, EXAMPLES / "ranks.py"], "/").splitlines()
        alone = lines[2].removeprefix("alone: ")
        self.assertEqual(lines[:2], [f"rank {rank} of 2: {alone}, the same file" for rank in range(2)])

    def test_digits(self):
        few = EXAMPLES.parents[2] / "docs/examples/digits/tests/few.spikes.gz"
        output = run([sys.executable, EXAMPLES / "digits.py", few, 20], "/")
        training, others = (float(line.rsplit(" ", 1)[1]) for line in output.splitlines()[-2:])
        self.assertGreater(training, 0.7, output)
        self.assertGreater(others, 0.5, output)  # chance is 0.1

    def test_notebook(self):
        # Another test compares the pictures with those of the pages. Here: without a folder, and where matplotlib is.
        outputs, pictures = [], []
        for words in ([], ["."]):
            with tempfile.TemporaryDirectory() as folder:
                outputs.append(run([sys.executable, EXAMPLES / "notebook.py", *words], folder))
                files = sorted(pathlib.Path(folder).iterdir())
                self.assertEqual([one.name for one in files], ["python-neurons.svg", "python-training.svg"])
                pictures.append([one.read_bytes() for one in files])
        self.assertEqual(pictures[0], pictures[1])
        self.assertEqual(outputs[0], outputs[1])
        spikes, _, right, *confusion = outputs[0].splitlines()
        each = [int(word) for word in spikes.rsplit(": ", 1)[1].split(" ")]
        self.assertEqual((len(each), each[0], each), (24, 0, sorted(each)))  # more current, no fewer spikes
        rows = np.array([line.split()[1:] for line in confusion], int)
        self.assertEqual((rows.shape, rows.sum()), ((5, 5), 200))
        self.assertEqual(right, f"{rows.trace()} of 200 right")
        self.assertGreater(rows.trace(), 140)  # chance is 40

    def test_network_of_pytorch(self):
        try:
            import torch  # noqa: F401
        except ImportError:
            self.skipTest("no PyTorch")
        self.assertIn("60 of 60 right", run([sys.executable, EXAMPLES / "torch_neurons.py"], "/"))

    def test_own_neuron(self):
        self.assertEqual(len(self.compare("own_neuron", "bindings-own_neuron").splitlines()), 95)


if __name__ == "__main__":
    unittest.main()
