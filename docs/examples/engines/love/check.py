#!/usr/bin/env python3
"""The game in tests, with fixed steps and a seed: check.py LOVE GAME FOLDER [XVFB_RUN]

600 frames without a window twice, once with one thread and once with two: the weights must be the same, byte for byte, and
with another seed they must not. After a quarter of a minute with the teacher, the creatures live alone in a world that they
never saw: they must find at least 0.8 of the teacher's food, and much more than at random. With XVFB_RUN the game also
draws a picture of itself into FOLDER.

SPDX-License-Identifier: MIT
"""
import pathlib
import re
import struct
import subprocess
import sys


def run(command):
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900,
                          check=False)
    print(done.stdout, flush=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit status {done.returncode}")
    return done.stdout


def refuses(command, words):
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900,
                          check=False)
    if done.returncode == 0 or words not in done.stdout:
        sys.exit(f"{' '.join(map(str, command))} does not say {words}: {done.stdout}")


def weights(love, game, path, *more):
    path.unlink(missing_ok=True)
    run([love, game, "--frames", 600, "--save", path, *more])
    return path.read_bytes()


def main():
    love, game, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    first = weights(love, game, folder / "first.safetensors", "--threads", 1)
    if weights(love, game, folder / "second.safetensors", "--threads", 2) != first:
        sys.exit("600 frames twice give two networks")
    path = folder / "other.safetensors"
    run([love, game, "--frames", 20, "--seed", 2, "--save", path, "--load", folder / "first.safetensors"])
    if path.read_bytes() == first:
        sys.exit("20 more frames change nothing")
    path.write_bytes(first[:-4])
    refuses([love, game, "--frames", 1, "--load", path], "[SYN-FILE-")
    refuses([love, game, "--frames", 1, "--load", folder / "no such file"], "[SYN-FILE-OPEN]")
    scores = {who: float(food) for who, food in
              re.findall(r"^(\w+) +([0-9.]+) food per minute", run([love, game, "--score", 0.25]), flags=re.M)}
    if scores["alone"] < 0.8 * scores["teacher"] or scores["alone"] < 3 * scores["random"]:
        sys.exit(f"the creatures have not learnt: {scores}")
    if len(sys.argv) > 4:
        picture = folder / "game.png"
        picture.unlink(missing_ok=True)
        run([sys.argv[4], "-a", love, game, "--screenshot", picture, 30])
        size = struct.unpack(">II", picture.read_bytes()[16:24])
        if size != (1280, 720) or picture.stat().st_size < 10000:
            sys.exit(f"a picture of {size} in {picture.stat().st_size} bytes")


if __name__ == "__main__":
    main()
