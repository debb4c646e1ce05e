#!/usr/bin/env python3
"""Starts synfire-mpi-ranks with the mpirun of an MPI: the same bits with 1, 2, 3 and 5 ranks; a rank that is killed, ends or
gives up; and a library that belongs to no MPI: run_mpi.py NAME MPIRUN PROGRAM SHIM. Ends with 77 if that MPI is not there.

SPDX-License-Identifier: MIT
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

# The options start many processes on few processors, as any user; with the others, the rest outlives one that is killed.
OPTIONS = {"openmpi": ["--allow-run-as-root", "--oversubscribe", "--mca", "btl_vader_single_copy_mechanism", "none"], "mpich": []}
SURVIVE = {"openmpi": ["--enable-recovery", "--mca", "orte_abort_on_non_zero_status", "0"], "mpich": ["-disable-auto-cleanup"]}


def start(name, mpirun, n_ranks, program, shim, arguments, options=()):
    """Returns the output and the seconds that it took."""
    began = time.monotonic()
    done = subprocess.run([mpirun, *OPTIONS[name], *options, "-n", str(n_ranks), program, *arguments],
                          env={**os.environ, "SYNFIRE_MPI": shim}, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout + done.stderr, time.monotonic() - began


def main():
    name, mpirun, program, shim = sys.argv[1:]
    if not os.path.isfile(mpirun) or not os.path.isfile(shim):
        print(f"SKIPPED: {name} is not there (Debian: lib{name}-dev{' and openmpi-bin' if name == 'openmpi' else ' and mpich'})")
        sys.exit(77)
    problems = []
    for n_ranks in (1, 2, 3, 5):
        output, _ = start(name, mpirun, n_ranks, program, shim, ["same"])
        if output.count("the same bits") != n_ranks:
            problems.append(f"{n_ranks} ranks:\n{output}")
    for mode, n_least in (("kill", 2), ("end", 2), ("abort", 3)):
        with tempfile.TemporaryDirectory() as folder:
            output, seconds = start(name, mpirun, 3, program, shim, [mode, folder], SURVIVE[name])
            outcomes = [path.read_text(encoding="utf-8") for path in sorted(pathlib.Path(folder).iterdir())]
        # MPICH's mpirun often ends the others itself, before they have written anything.
        least = n_least if name == "openmpi" else 0
        if len(outcomes) < least or seconds > 30 or not all(one.startswith("PEER_LOST") for one in outcomes):
            problems.append(f"a rank that ends ({mode}): {outcomes}\n{output}")
        print(f"{name}: a rank has ended ({mode}); all were done after {seconds:.1f} s")
    # Without mpirun, a process is a world of its own, and says so where more ranks are expected.
    alone = subprocess.run([program, "same"], env={**os.environ, "SYNFIRE_MPI": shim, "SYNFIRE_RANK": "0", "SYNFIRE_WORLD_SIZE": "2"},
                           capture_output=True, text=True, timeout=60, check=False)
    if "SYN-COMMUNICATOR-MPI" not in alone.stdout + alone.stderr:
        problems.append(f"one process of two:\n{alone.stdout}{alone.stderr}")
    missing = subprocess.run([program, "same"], env={**os.environ, "SYNFIRE_MPI": "/nowhere/libsynfire_mpi.so"}, capture_output=True,
                             text=True, timeout=60, check=False)
    if "SYN-COMMUNICATOR-MPI" not in missing.stdout + missing.stderr:
        problems.append(f"no library for MPI:\n{missing.stdout}{missing.stderr}")
    print("\n".join(problems) or f"{name}: 1, 2, 3 and 5 ranks have the same bits")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
