"""live_terminal.py HEAR SOUND: runs `hear --live` on a pseudo-terminal and looks at what a person would see.

Follows the few escape sequences that the program may use, and fails at any other. A terminal that is too small gets plain
text. SPDX-License-Identifier: MIT
"""
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios


def watch(columns, rows, *command):
    """Returns the text that the program wrote to a terminal of this size, and the text on stdout."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    program = subprocess.Popen(command, stderr=slave, stdout=subprocess.PIPE)
    os.close(slave)
    text = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:  # the program has closed the terminal
            break
        if not part:
            break
        text += part
    table = program.stdout.read().decode()
    if program.wait() != 0:
        sys.exit(f"exit status {program.returncode}")
    return text.decode(), table


def screen_of(text, columns, rows):
    """The lines of a terminal after this text; fails if a row is wider than it."""
    screen, row, column = [""], 0, 0
    for part in re.findall(r"\x1b\[\d*[A-Z]|\r|\n|[^\x1b\r\n]+", text):
        if part == "\n":
            row += 1
            screen += [""] * (row + 1 - len(screen))
        elif part == "\r":
            column = 0
        elif part[0] != "\x1b":
            screen[row] = screen[row][:column] + part + screen[row][column + len(part):]
            column += len(part)
            assert column < columns, screen[row]
        elif part[-1] == "K":
            screen[row] = screen[row][:column]
        else:
            row += {"A": -1, "B": 1}[part[-1]] * int(part[2:-1])
            assert len(screen) - rows <= row < len(screen), f"the cursor leaves the terminal: {row} of {len(screen)}"
    return screen


def main():
    command = (sys.argv[1], sys.argv[2], "--backend", "host", "--live", "--frames", "600")
    text, table = watch(80, 24, *command)
    screen = screen_of(text, 80, 24)
    print("\n".join(screen))
    assert screen[0].startswith("0.600 of 0.600 s  speech.wav"), screen[0]
    bands = [line for line in screen if re.match(r"^ *\d+ \|.{58}\| [# ]{10}\|$", line)]
    assert len(bands) == 16 and any(mark in line for line in bands for mark in ":-=+*#%@"), "no spikes to see"
    assert any("#" in line.split("|")[2] for line in bands), "no V to see"
    assert re.match(r"^latency [0-9.]+ us, p50 [0-9.]+ us, p99 [0-9.]+ us, max [0-9.]+ us; \d+ of 600 late$", screen[19])
    assert screen[20].split()[0] == re.search(r"^spikes +(\d+)", table, re.MULTILINE)[1], screen[20]
    assert text.count("\x1b[21A") > 10, "drawn only once"
    small, _ = watch(60, 24, *command)
    assert "\x1b" not in small and small.count("   Hz |") == 1, "a small terminal"


main()
