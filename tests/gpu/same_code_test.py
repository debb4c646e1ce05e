"""same_code.sh in a small repository: only comments may differ from a recorded run. Needs git and g++, no GPU.

Usage: same_code_test.py
"""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
KERNEL = "src/backends/cuda/kernel.cu"


class SameCode(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        sources = subprocess.run([HERE / "run.sh", "--sources"], check=True, capture_output=True, encoding="utf-8").stdout
        for name in [*sources.split(), "tests/gpu"]:
            (self.root / name).mkdir(parents=True)
            self.write(f"{name}/list.txt", "one\n")
        for name in ("run.sh", "same_code.sh"):
            shutil.copy(HERE / name, self.root / "tests/gpu")
        self.write(KERNEL, '#define WIDTH 4  // lanes\nint width() { return WIDTH; }  // of a "warp"\n')
        self.run_in("git", "init", "--quiet")
        self.run_in("git", "add", "--all")
        self.run_in("git", "-c", "user.name=n", "-c", "user.email=e", "commit", "--quiet", "-m", "c")
        self.commit = self.run_in("git", "rev-parse", "HEAD").stdout.strip()
        self.hash = self.run_in("tests/gpu/run.sh", "--hash").stdout.strip()

    def write(self, name, text):
        (self.root / name).write_text(text, encoding="utf-8")

    def run_in(self, *command, check=True, **environment):
        return subprocess.run(command, cwd=self.root, check=check, capture_output=True, encoding="utf-8",
                              env={**os.environ, **environment})

    def is_same(self, commit=None, digest=None, **environment):
        return self.run_in("tests/gpu/same_code.sh", commit or self.commit, digest or self.hash, check=False,
                           **environment).returncode == 0

    def test_nothing_changed(self):
        self.assertTrue(self.is_same())

    def test_a_comment(self):
        self.write(KERNEL, '// Why.\n#define WIDTH 4\nint width() { return WIDTH; }  /* of one */\n')
        self.assertTrue(self.is_same())

    def test_code(self):
        for text in ('#define WIDTH 8\nint width() { return WIDTH; }\n',
                     '#include "x.hpp"\n#define WIDTH 4\nint width() { return WIDTH; }\n',
                     '#define WIDTH 4\nint width() { return WIDTH + 1; }\n', ""):
            self.write(KERNEL, text)
            self.assertFalse(self.is_same(), text)

    def test_files(self):
        self.write("src/operations/list.txt", "two\n")
        self.assertFalse(self.is_same(), "not a source file")
        self.write("src/operations/list.txt", "one\n")
        self.write("src/operations/new.cpp", "")
        self.assertFalse(self.is_same(), "a new file")
        (self.root / "src/operations/new.cpp").unlink()
        (self.root / KERNEL).unlink()
        self.assertFalse(self.is_same(), "a file less")

    def test_evidence_of_something_else(self):
        self.assertFalse(self.is_same(commit="0" * 40))
        self.assertFalse(self.is_same(digest="0" * 64))

    def test_without_a_compiler(self):
        """Then nobody knows whether more than comments has changed."""
        self.write(KERNEL, '#define WIDTH 8\nint width() { return WIDTH; }\n')
        self.write("g++", "#!/bin/sh\nexit 1\n")
        (self.root / "g++").chmod(0o755)
        self.assertFalse(self.is_same(PATH=f"{self.root}:{os.environ['PATH']}"))


if __name__ == "__main__":
    unittest.main()
