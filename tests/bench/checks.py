"""Runs of synfire-bench, and checks of what it prints and writes.

Most situations take a few milliseconds, so a module of Python is loaded where it is needed, and a run is a plain
os.posix_spawn() in the current folder.

SPDX-License-Identifier: MIT
"""
import os
import re

program = ""  # bench_test.py sets it


class Failed(Exception):
    """A check has failed; says what was expected and what was found."""


def start(arguments, output="output", environment=None):
    """Runs the program, whose output goes to this file. Returns its exit status, output and errors."""
    actions = [(os.POSIX_SPAWN_OPEN, number, path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
               for number, path in ((1, output), (2, "errors"))]
    process = os.posix_spawn(program, [program, *arguments.split()], {**os.environ, **(environment or {})},
                             file_actions=actions)
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    return status, read(output) if os.path.isfile(output) else "", read("errors")


def run(arguments):
    """Runs the program, which must succeed. Returns its output and its errors."""
    status, output, errors = start(arguments)
    require(status == 0, f"{arguments}: exit status {status}, not 0\n{output}{errors}")
    return output, errors


def fails(arguments, reason, **options):
    """Exit status 1, and a reason that matches this pattern."""
    status, output, errors = start(arguments, **options)
    require(status == 1, f"{arguments}: exit status {status}, not 1\n{output}{errors}")
    expect(errors, reason)


def refused(arguments, reason):
    """Exit status 2, with nothing but the reason and the usage on standard error. Returns these."""
    status, output, errors = start(arguments)
    require(status == 2, f"{arguments}: exit status {status}, not 2\n{output}{errors}")
    require(errors.startswith("synfire-bench: " + reason), f"{arguments}: the reason is not \"{reason}\":\n{errors}")
    expect(errors, "\nusage: synfire-bench ")
    require(output == "", f"{arguments}: a refused command line printed:\n{output}")
    return errors


def shows(arguments, patterns):
    """Exit status 0, and these patterns on standard output."""
    output, _ = run(arguments)
    for pattern in patterns:
        expect(output, pattern)


def require(condition, text):
    if not condition:
        raise Failed(text)


def expect(text, pattern):
    r"""The pattern is found, in which `.` may be a newline, ^ is the start of the text and \Z its end."""
    require(re.search(pattern, text, re.DOTALL), f"this does not match \"{pattern}\":\n{text}")


def read(name):
    with open(name, encoding="utf-8", errors="replace", newline="") as file:
        return file.read()


def write(name, text):
    with open(name, "w", encoding="utf-8") as file:
        file.write(text)


def read_json(text, count=None):
    """The rows of a JSON text, of which there must be this many."""
    import json
    rows = json.loads(text)
    require(count in (None, len(rows)), f"{len(rows)} rows; {count} are expected\n{text}")
    return rows


def number(row, name):
    try:
        return float(row[name])
    except (KeyError, TypeError, ValueError):
        raise Failed(f"{name} is \"{row.get(name)}\"; a number is expected\n{row}") from None


def has(row, **wanted):
    for name, value in wanted.items():
        require(name in row, f"there is no {name}\n{row}")
        require(str(row[name]) == str(value), f"{name} is \"{row[name]}\", not \"{value}\"\n{row}")


def has_positive(row, *names):
    for name in names:
        require(number(row, name) > 0, f"{name} is \"{row[name]}\"; a positive number is expected\n{row}")


def one_row(arguments, last):
    """The values of the only row that is printed, by the names of the columns, of which this is the last."""
    import csv
    output, _ = run(arguments)
    lines = list(csv.reader(output.splitlines()))
    require(len(lines) == 2, f"a header and one row are expected:\n{output}")
    header, row = lines
    require(header[-1] == last, f"the last column is \"{header[-1]}\", not \"{last}\"")
    require(len(header) == len(row), f"the row has {len(row)} values, the header {len(header)}:\n{output}")
    return dict(zip(header, row))
