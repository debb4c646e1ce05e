#!/usr/bin/env python3
"""Old calls with bare numbers do not compile, and rustc shows the new spelling: check_spelling.py CARGO TARGET_FOLDER

TARGET_FOLDER is where cargo works. SPDX-License-Identifier: MIT
"""
import os
import pathlib
import subprocess
import sys
import tempfile

CRATE = pathlib.Path(__file__).resolve().parents[1] / "synfire"
MANIFEST = f"""[package]
name = "spelling"
version = "0.0.0"
edition = "2021"
[dependencies]
synfire = {{ path = "{CRATE}", features = ["load-dynamic"] }}
[workspace]
"""
NAMED = ("expected `Steps`", "expected `Neurons`", "synfire::Steps(", "synfire::Neurons(")
# Lines of a program, and the messages of rustc that they must cause; none: it compiles.
CALLS = {
    "Layer::builder(20, 64)": NAMED,
    "SpikeShape::new(20, 64)": NAMED,
    "Layer::builder(n, n)": NAMED,
    "Layer::builder(Neurons(64), Steps(20))": ("Steps`, found", "Neurons`, found"),
    "Layer::builder(Steps(20), Neurons(64))": (),
    "SpikeShape::new(Steps(n), Neurons(n))": (),
}


def main():
    cargo, target = sys.argv[1:]
    environment = {**os.environ, "CARGO_TARGET_DIR": target, "CARGO_NET_OFFLINE": "true"}
    with tempfile.TemporaryDirectory() as folder:
        package = pathlib.Path(folder)
        (package / "src").mkdir()
        (package / "Cargo.toml").write_text(MANIFEST, encoding="utf-8")
        for call, expected in CALLS.items():
            program = f"use synfire::*;\n\nfn main() {{\n    let n: i64 = 4;\n    let _ = ({call}, n);\n}}\n"
            (package / "src/main.rs").write_text("#![allow(unused_imports)]\n" + program, encoding="utf-8")
            answer = subprocess.run([cargo, "check"], cwd=package, env=environment, capture_output=True, text=True)
            # Older compilers say "struct", and the whole path of a name that something else has too.
            said = answer.stderr.replace("expected struct `", "expected `").replace("expected `synfire::", "expected `")
            wrong = [text for text in expected if text not in said]
            if (answer.returncode == 0) != (not expected) or wrong:
                sys.exit(f"{call}: rustc does not say {wrong}\n{answer.stderr}")
            print(f"{call}: {'refused' if expected else 'compiles'}")


if __name__ == "__main__":
    main()
