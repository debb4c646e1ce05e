"""Runs the commands of a start page as a stranger would: from an empty folder that has only the sources, in one shell.

Usage: check_start.py install SOURCE_DIRECTORY FOLDER          # the commands that all pages begin with
       check_start.py LANGUAGE SOURCE_DIRECTORY FOLDER         # what docs/pages/start-LANGUAGE.md does after them

The first form empties FOLDER, links the sources into it as `synfire`, and builds and installs the library there. The
second form starts in the same folder, so that the library is built once for all pages. The first block of a page ends
with the line that the page shows, but for the number of late frames. Then come the commands of docs/pages/first-network.md,
with the `export` of the start page, and they print what that page shows.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

LANGUAGES = {"c": "C", "cpp": "C++", "rust": "Rust", "csharp": "C#", "julia": "Julia",
             "lua": "Lua", "python": "Python"}  # with the titles of their tabs
N_COMMON = 2  # commands that build and install


def blocks_of(page):
    """The blocks of shell commands of a page: lists of lines."""
    return [block.rstrip("\n").split("\n")
            for block in re.findall(r"^```sh\n(.*?)^```$", page.read_text(encoding="utf-8"), flags=re.M | re.S)]


def network_of(page, language):
    """The commands of a language on the page of the first network, and what they print."""
    text = page.read_text(encoding="utf-8")
    tabs = re.findall(rf"^<details(?: open)?><summary>{re.escape(LANGUAGES[language])}</summary>\n(.*?)^</details>$", text,
                      flags=re.M | re.S)
    commands = [line[4:] for tab in tabs if "<!-- code" not in tab for line in tab.split("\n") if line.startswith("    ")]
    printed = re.search(r"^All of them print the same:\n\n((?:    .*\n)+)", text, flags=re.M).group(1)
    return commands, "".join(line[4:] for line in printed.splitlines(keepends=True))


def run(commands, folder, environment):
    print("\n".join(f"$ {command}" for command in commands), flush=True)
    done = subprocess.run(["bash", "-e", "-c", "\n".join(commands)], cwd=folder, env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    print(done.stdout, flush=True)
    if done.returncode:
        sys.exit(f"these commands end with status {done.returncode}")
    return done.stdout


def install(commands, source, folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "synfire").symlink_to(source)
    run(commands, folder, os.environ | {"CCACHE_BASEDIR": str(folder)})


def start(page, language, folder):
    """Returns the lines after the common commands; a stranger does not have the test's own settings."""
    for left in folder.glob("*"):
        if left.name not in ("synfire", "build", "prefix"):
            shutil.rmtree(left) if left.is_dir() else left.unlink()
    private = ("SYNFIRE_", "LD_LIBRARY_PATH", "PKG_CONFIG_PATH", "JULIA_LOAD_PATH", "LUA_PATH", "CARGO_TARGET_DIR", "PYTHONPATH")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(private)}
    # Sources stay as they are.
    environment |= {"CARGO_TARGET_DIR": str(folder.parent / "cargo"), "JULIA_DEPOT_PATH": str(folder.parent / "depot"),
                    "CARGO_NET_OFFLINE": "true", "PYTHONDONTWRITEBYTECODE": "1"}
    blocks = blocks_of(page)
    expected = re.search(r"^    (1000 frames .*), 0 late frames$", page.read_text(encoding="utf-8"), flags=re.M).group(1)
    first, exports = blocks[0][N_COMMON:], [line for line in blocks[0] if line.startswith("export ")]
    if not re.search(rf"^{re.escape(expected)}, \d+ late frames$", run(first, folder, environment), flags=re.M):
        sys.exit(f"{page.name} promises: {expected}")
    for block in blocks[1:]:
        output = run(exports + block, folder, environment)
        if language == "rust" and expected not in output:
            sys.exit(f"the program of your own does not print: {expected}")
        if language == "csharp" and not list((folder / "com.synfire.synfire").glob("**/libsynfire0.so")):
            sys.exit("the package for Unity has no library")


    commands, expected = network_of(page.parent / "first-network.md", language)
    output = run(exports + commands, folder, environment)
    if not output.endswith(expected):
        sys.exit(f"first-network.md promises:\n{expected}")


def main():
    what, source, folder = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    pages = {language: source / "docs" / "pages" / f"start-{language}.md" for language in LANGUAGES}
    common = {tuple(blocks_of(page)[0][:N_COMMON]) for page in pages.values()}
    if len(common) != 1:
        sys.exit(f"the pages do not begin with the same {N_COMMON} commands: {common}")
    for page in pages.values():
        if len(blocks_of(page)[0]) > 5:
            sys.exit(f"{page.name}: more than five commands")
    if what == "install":
        install(list(common.pop()), source, folder)
    else:
        start(pages[what], what, folder)


if __name__ == "__main__":
    main()
