#!/usr/bin/env python3
"""Plants each pattern of check_words.py in files of every kind and room, and expects that it is found there, and nowhere
else."""

import pathlib
import subprocess
import sys
import tempfile

CHECK = pathlib.Path(__file__).with_name("check_words.py")
# File, text, and the lines with a finding.
PLANTED = [
    # Words, in each kind of file.
    ("src/base/a.cpp", "// Rows behind the header.\nint behind = 0;  // lies after it\n", [1]),
    ("capi/a.cpp", 'fail("it ends behind the file");\nfail("it ends after the file");\n', [1]),
    ("include/a.h", "/** H lies over X. */\nint a;\n/** A reader\n *  answers the\n *  whole\n *  number. */\n", [1, 4, 5]),
    ("src/base/a.cu", "/* One lies\n * over the other. */\nint b;  // Lying over it.\n", [1, 3]),
    ("bindings/a.rs", "/// Here it stands.\nfn stands() {}\n/// It stood there.\nfn f() {}\n", [1, 3]),
    ("bindings/a.cs", '/// <summary>A whole number.</summary>\nvar a = @"whole number";\n', [1, 2]),
    ("bindings/a.jl", '"""\n    f(x)\n\nAnswers a number.\n"""\nf(x) = answers[x]  # continues to the bit\n', [4, 6]),
    ("tools/a.py", '"""It answered."""\nanswered = "whole numbers"  # goes on to the bit\n', [1, 2, 2]),
    ("tests/a.sh", "# A call answers 0.\necho 'it stands'  # good\n", [1, 2]),
    ("cmake/a.cmake", 'message("It stands behind")  # fine\n', [1, 1]),
    ("tests/CMakeLists.txt", "add_test(NAME answers)\n# A test answers.\n", [2]),
    ("docs/pages/a.md", "A length behind\nanother one; a call may answer `SYN-A`.\n", [1, 2]),
    ("docs/a.md", "| stands | answers |\n", [1, 1]),
    ("README.md", "Equal to the bit.\n", [1]),
    ("CHANGELOG.md", "- A launch answers `SYNFIRE_OK`.\n- The answer is `SYN-A`.\n", [1, 2]),
    ("src/base/d.cpp", '// Rows that are no\n// numbers. A mask is no row.\nfail("it is no folder");\n', [1, 2, 3]),
    ("bindings/c.rs", "// SAFETY: the slice has so many bytes.\nfn f() {}  // as some hundred\n// others\n", [1, 2]),
    ("docs/pages/b.md", "It takes at most so\nmuch memory, some thousands of bytes.\n", [1, 2]),
    # Sentences without a verb, at the beginning of a comment and, where no verb can follow, in it.
    ("src/base/b.hpp", "// Of the products.\nint a;  // Of the thread\n/* What is kept. */\nint b;\n// What else.\n", [1, 2, 3, 5]),
    ("src/base/c.hpp", "// A row. That of a thread. Whether it is.\n//\n// Whether not.\nint a;  // Whether so\n// or not.\n", [1, 1, 3, 4]),
    ("include/c.h", "/** Whether\n *  it fits. */\nint a;  ///< What it is\n/**\n * Of a layer.\n */\n", [1, 3, 5]),
    ("bindings/b.cs", "/// <summary>What it is.</summary>\n", [1]),
    ("tests/b.py", 'def f():\n    """What it does."""\n    # Whether it does.\n', [2, 3]),
    ("tests/b.cmake", "# What is built.\n", [1]),
    # The proper sense, code, and sentences that have a verb.
    ("src/base/good.cpp",
     "// Leaves nothing behind. Written behind the library's back. The object behind a handle. The loop is behind.\n"
     "// null stands for a default, and a stand-in for a device. The answers of the tests. A number from the whole.\n"
     "// The file is kept. What it throws is passed on. Of several, the first is taken.\n"
     "// Whether it fits depends on the device. Overlies; understands; outstanding; bits to the bitmap; `behind`.\n"
     "bool answers = behind(stands, 'a');  // the number, of which what is known tells whether it fits\n"
     "// There is no row. It is no longer one.\n"
     "// There are so many rows that it waits; as much, and so much as that. Some rows.\n"
     "auto text = \"Whether\";  // what? Of course not.\n// What?\n", []),
    ("docs/pages/good.md", "# What it costs\n\nWhat a page says of a thing is read. Whether it fits depends on it.\n", []),
    ("tests/abi/synfire-0.1.h", "/** What a call answers, to the bit. */\n", []),
    ("LICENSE.md", "It stands.\n", []),  # no room
    ("src/base/picture.svg", "It stands.\n", []),  # nothing that is read
]


def main():
    with tempfile.TemporaryDirectory() as folder:
        for name, text, _ in PLANTED:
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        run = subprocess.run([sys.executable, CHECK, folder], capture_output=True, text=True)
        found = sorted(tuple(line.split(":", 2)[:2]) for line in run.stderr.splitlines())
        planted = sorted((name, str(line)) for name, _, lines in PLANTED for line in lines)
        if found != planted or run.returncode != 1:
            missing, wrong = [one for one in planted if one not in found], [one for one in found if one not in planted]
            sys.exit(f"not found: {missing}\nfound where nothing is: {wrong}\n{run.stdout}{run.stderr}")
        good = [name for name, _, lines in PLANTED if not lines and name != "LICENSE.md"]
        run = subprocess.run([sys.executable, CHECK, folder, *good], capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(run.stdout + run.stderr)
    print(f"{len(planted)} findings")


if __name__ == "__main__":
    main()
