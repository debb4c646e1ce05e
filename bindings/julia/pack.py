#!/usr/bin/env python3
"""Makes of the archive for engines what Julia's package manager installs:

    pack.py SDK OUTPUT URL

SDK is that archive (cmake/pack_sdk.cmake), unpacked. OUTPUT gets an artifact for each system, which is to be published below URL,
and Synfire/, the package with the Artifacts.toml that says so. OUTPUT must not exist, or be empty.

SPDX-License-Identifier: MIT
"""
import hashlib
import pathlib
import re
import shutil
import sys
import tarfile

HERE = pathlib.Path(__file__).resolve().parent
# The folder of the archive, then what Julia calls the system, where it looks for libraries there, and which they are.
SYSTEMS = (("linux-x64", "linux", '\nlibc = "glibc"', "x86_64-linux-gnu", "lib", ("libsynfire0.so",)),
           ("windows-x64", "windows", "", "x86_64-w64-mingw32", "bin", ("synfire0.dll",)))


def git_object(kind, content):
    return hashlib.sha1(f"{kind} {len(content)}\0".encode() + content).digest()


def tree(folder):
    """Returns the hash that git would give this folder; the package manager compares it with what it has unpacked."""
    entries = []
    for path in folder.iterdir():
        if path.is_dir():
            entries.append((path.name + "/", b"40000 ", path.name, tree(path)))
        else:
            mode = b"100755 " if path.stat().st_mode & 0o100 else b"100644 "
            entries.append((path.name, mode, path.name, git_object("blob", path.read_bytes())))
    return git_object("tree", b"".join(mode + name.encode() + b"\0" + digest for _, mode, name, digest in sorted(entries)))


def clean(member):
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sdk, output, url = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3].rstrip("/")
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        sys.exit(f"{output} is there already, and not an empty folder")
    version = re.search(r'^version = "(.*)"', (HERE / "Synfire/Project.toml").read_text(), re.MULTILINE)[1]
    before, part, after = re.split(r"@SYSTEM@\n|@END@\n", (HERE / "Artifacts.toml.in").read_text())
    package = output / "Synfire"
    shutil.copytree(HERE / "Synfire", package, ignore=shutil.ignore_patterns("Manifest.toml", ".*"))
    shutil.copy(sdk / "LICENSE", package)
    written = []
    for folder, system, libc, triplet, place, names in SYSTEMS:
        if not (sdk / folder).is_dir():
            continue
        content = output / triplet
        (content / place).mkdir(parents=True)
        for name in names:
            shutil.copyfile(sdk / folder / name, content / place / name)
            (content / place / name).chmod(0o755)
        shutil.copytree(sdk / "licenses" / folder, content / "share/licenses/Synfire", copy_function=shutil.copyfile)
        shutil.copyfile(sdk / "LICENSE", content / "share/licenses/Synfire/LICENSE")
        for path in content.rglob("*"):
            path.chmod(0o755 if path.is_dir() or path.parent.name == place else 0o644)
        archive = output / f"Synfire.v{version}.{triplet}.tar.gz"
        with tarfile.open(archive, "w:gz") as packed:
            for path in sorted(content.iterdir()):
                packed.add(path, path.name, filter=clean)
        values = {"OS": system, "LIBC": libc, "TREE": tree(content).hex(), "URL": url, "FILE": archive.name,
                  "SHA256": hashlib.sha256(archive.read_bytes()).hexdigest()}
        written.append(re.sub(r"@(\w+)@", lambda match: values[match[1]], part))
        shutil.rmtree(content)
    if not written:
        sys.exit(f"{sdk} has no library of any system")
    head = re.sub(r"^#.*\n", "", before, flags=re.MULTILINE)
    (package / "Artifacts.toml").write_text("# Written by pack.py.\n" + head + "".join(written) + after)


if __name__ == "__main__":
    main()
