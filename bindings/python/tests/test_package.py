"""Packs the wheel of a build, installs it into an empty environment without the network, and runs the first program
there: test_package.py BUILD_FOLDER

SPDX-License-Identifier: MIT
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parents[1]
USE = """
import synfire, sys
assert "site-packages" in synfire.__file__, synfire.__file__
assert synfire.library_path().startswith(sys.prefix), synfire.library_path()
context = synfire.Context("host")
layer = synfire.Layer(context, steps=16, neurons=128, tau=20.0)
graph = synfire.Graph(context)
graph.forward(layer, x=layer.sequence_buffer(), spikes=layer.spike_buffer())
graph.instantiate()
graph.replay()
print(synfire.version_string())
"""


def run(*command, **environment):
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("SYNFIRE_", "PYTHON", "PIP_"))}
    done = subprocess.run([str(word) for word in command], env={**kept, **environment}, check=False, cwd="/",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
    if done.returncode:
        sys.exit(f"FAILED: {' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


def main():
    build = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        wheel = pathlib.Path(run(sys.executable, HERE / "wheel.py", build, folder / "wheels").splitlines()[-1])
        first = wheel.read_bytes()
        run(sys.executable, HERE / "wheel.py", build, folder / "wheels")
        if wheel.read_bytes() != first:
            sys.exit("FAILED: two wheels of one build differ")
        names = zipfile.ZipFile(wheel).namelist()
        for needed in ("synfire/py.typed", "synfire/torch/__init__.py", "synfire/lib/libsynfire0.so.0"):
            if needed not in names:
                sys.exit(f"FAILED: the wheel has no {needed}")
        if not any(one.endswith("/licenses/LINKED.txt") for one in names):
            sys.exit("FAILED: the wheel has no licences of what is linked")
        # One environment has nothing else, the other one also has the NumPy of this machine, for the first program.
        for options, program in (([], ["-c", USE]), (["--system-site-packages"], [HERE / "examples/quickstart.py"])):
            place = folder / f"environment{len(options)}"
            run(sys.executable, "-m", "venv", *options, place)
            run(place / "bin/python", "-m", "pip", "install", "--no-index", "--no-deps", wheel)
            print(run(place / "bin/python", *program).strip())
        print(f"{wheel.name}: {len(first) / 1e6:.1f} MB, {len(names)} files")


if __name__ == "__main__":
    main()
