#!/usr/bin/env python3
"""Packs Debian packages and installs them into an empty root, by dpkg itself:

    check_deb.py WORK_FOLDER HOST_BUILD CUDA_BUILD VERSION C_COMPILER CXX_COMPILER

The builds are build folders of this repository; CUDA_BUILD may be empty or a folder without a build, and then the CUDA package
is reported as not tested. Programs are compiled with what is installed there and nothing else. Exit status 77: skipped.

SPDX-License-Identifier: MIT
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
CONSUMER = TESTS / "install" / "consumer"


def fail(text):
    sys.exit(f"FAILED: {text}")


def expect(condition, text):
    if not condition:
        fail(text)


def run(*command, fails=False, **options):
    answer = subprocess.run([str(part) for part in command], capture_output=True, text=True, errors="replace", **options)
    print("$", *command, "\n" + answer.stdout + answer.stderr)
    expect((answer.returncode != 0) == fails, f"{command[0]} returned {answer.returncode}")
    return answer.stdout + answer.stderr


def fields(package):
    text = run("dpkg-deb", "--field", package)
    return {name: value for name, value in re.findall(r"^(\S+): (.*)$", text, re.MULTILINE)}


def pack(build, folder):
    """The packages of a build, by name. cpack builds nothing: what is packed is what was tested."""
    shutil.rmtree(folder, ignore_errors=True)
    run("cpack", "-G", "DEB", "--config", build / "CPackConfig.cmake", "-B", folder)
    return {fields(path)["Package"]: path for path in folder.glob("*.deb")}


class Root:
    """An empty folder that dpkg takes for a system in which only the C library is installed."""

    def __init__(self, folder):
        self.folder, self.tools = folder, folder.parent / "tools"
        shutil.rmtree(folder, ignore_errors=True)
        self.tools.mkdir(exist_ok=True)
        (self.tools / "ldconfig").write_text("#!/bin/sh\necho ldconfig is asked\n")
        (self.tools / "ldconfig").chmod(0o755)
        (folder / "var/lib/dpkg/updates").mkdir(parents=True)
        (folder / "var/lib/dpkg/info").mkdir()
        libc = run("dpkg-query", "--show", "--showformat=${Version} ${Architecture}", "libc6").split()[:2]
        (folder / "var/lib/dpkg/status").write_text(
            "Package: libc6\nStatus: install ok installed\nMaintainer: nobody\nDescription: the build machine's\n"
            f"Version: {libc[0]}\nArchitecture: {libc[1]}\n\n")

    def dpkg(self, *arguments, fails=False):
        super_user = [] if os.geteuid() == 0 else ["fakeroot"]
        # The packages' scripts call ldconfig; here they find one that only says so.
        return run(*super_user, "dpkg", f"--root={self.folder}", "--log=/dev/null", "--force-bad-path",
                   "--force-script-chrootless", *arguments, fails=fails,
                   env={**os.environ, "PATH": f"{self.tools}:{os.environ['PATH']}"})

    def installed(self):
        text = (self.folder / "var/lib/dpkg/status").read_text()
        return {re.search(r"^Package: (.*)$", part, re.MULTILINE)[1] for part in text.split("\n\n")
                if "Status: install ok installed" in part} - {"libc6"}

    def licences(self):
        """The texts that LINKED.txt names, each of which is there; none is there that it does not name."""
        folder = self.folder / "usr/share/doc/synfire/licenses"
        named = set(re.findall(r"^    (\S+\.txt)$", (folder / "LINKED.txt").read_text(), re.MULTILINE))
        found = {path.name for path in folder.iterdir()} - {"LINKED.txt"}
        expect(named == found, f"LINKED.txt names {sorted(named)}; there are {sorted(found)}")
        return found

    def libraries(self):
        return sorted(path.name for path in (self.folder / "usr/lib").glob("libsynfire0*"))


def check_contents(package, version, name, conflicting):
    found = fields(package)
    expect(found["Package"] == name and found["Version"] == version, f"{package} is {found}")
    expect(found["Conflicts"] == found["Replaces"] == conflicting, f"{name} conflicts with {found.get('Conflicts')}")
    needed = {part.split()[0] for part in found["Depends"].split(",")}
    expect(needed == {"libc6"}, f"{name} depends on {sorted(needed)}; allowed: the C library")
    expect("@" not in found["Maintainer"], "an address in the metadata that nobody gave")
    names = run("dpkg-deb", "--contents", package)
    for wanted in (f"./usr/lib/libsynfire0.so.{version}", "./usr/lib/libsynfire0.so.0 -> ", f"/doc/{name}/copyright",
                   "/doc/synfire/licenses/LINKED.txt", "/doc/synfire/licenses/gcc.txt", "/doc/synfire/LICENSE"):
        expect(wanted in names, f"{name} has no {wanted}")


def check_programs(root, work, version, compilers):
    """A C and a C++ program, by find_package and by pkg-config, with the installed files alone."""
    prefix, library = root.folder / "usr", root.folder / "usr/lib"
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SYNFIRE", "PKG_CONFIG", "LD_LIBRARY", "CMAKE_PREFIX"))}
    loading = {**kept, "LD_LIBRARY_PATH": str(library)}
    build = work / "consumer"
    shutil.rmtree(build, ignore_errors=True)
    run("cmake", "-S", CONSUMER, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DWANTED_VERSION={version}",
        "-DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF", f"-DCMAKE_C_COMPILER={compilers[0]}", env=kept)
    run("cmake", "--build", build)
    expect(version in run(build / "consumer", env=loading), "the program of find_package")
    if not shutil.which("pkg-config"):
        print("pkg-config is not installed: not tested with it")
        return
    described = {**kept, "PKG_CONFIG_LIBDIR": str(library / "pkgconfig"), "PKG_CONFIG_PATH": ""}
    for compiler, source in zip(compilers, ("main.c", "main.cpp")):
        program = build / source.replace(".", "_")
        # pkg-config writes what a shell reads: odd letters of the path have backslashes in front.
        run("sh", "-c", 'eval "\'$1\' \'$2\' -o \'$3\' $(pkg-config --cflags --libs synfire)"', "sh", compiler,
            CONSUMER / source, program, env=described)
        expect(version in run(program, env=loading), f"the program of pkg-config, {source}")


def older(package, work, version):
    """The same package as an older release would have been, with a file that is gone since."""
    tree, result = work / "older", work / "older.deb"
    shutil.rmtree(tree, ignore_errors=True)
    run("dpkg-deb", "--raw-extract", package, tree)
    control = tree / "DEBIAN/control"
    control.write_text(control.read_text().replace(f"Version: {version}", "Version: 0.0.9"))
    (tree / f"usr/lib/libsynfire0.so.{version}").rename(tree / "usr/lib/libsynfire0.so.0.0.9")
    (tree / "usr/lib/libsynfire0.so.0").unlink()
    (tree / "usr/lib/libsynfire0.so.0").symlink_to("libsynfire0.so.0.0.9")
    run("dpkg-deb", "--root-owner-group", "--build", tree, result)
    return result


def main():
    work, host, cuda, version = (pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]),
                                 pathlib.Path(sys.argv[3]) if sys.argv[3] else None, sys.argv[4])
    compilers = sys.argv[5:7]
    missing = [tool for tool in ("dpkg", "dpkg-deb", "dpkg-shlibdeps", "file", "cpack") if not shutil.which(tool)]
    if os.geteuid() != 0 and not shutil.which("fakeroot"):
        missing.append("fakeroot")
    if missing:
        print("skipped, not installed:", *missing)
        sys.exit(77)
    work.mkdir(parents=True, exist_ok=True)

    packages = pack(host, work / "host")
    expect(set(packages) == {"libsynfire0", "libsynfire-dev"}, f"packed: {sorted(packages)}")
    check_contents(packages["libsynfire0"], version, "libsynfire0", "libsynfire0-cuda")
    runtime, development = packages["libsynfire0"], packages["libsynfire-dev"]

    # A folder with a space and letters of other scripts, as a prefix that nothing may stumble over.
    root = Root(work / "an empty røøt 空")
    answer = root.dpkg("--install", development, fails=True)
    expect(f"libsynfire-dev depends on libsynfire0 (= {version})" in answer, "headers without the library were accepted")
    root = Root(root.folder)
    answer = root.dpkg("--install", runtime, development)
    expect("ldconfig is asked" in answer, "the loader is not told of the library")
    check_programs(root, work, version, compilers)

    root = Root(root.folder)
    root.dpkg("--install", older(runtime, work, version))
    expect("libsynfire0.so.0.0.9" in root.libraries(), "the older package")
    root.dpkg("--install", runtime, development)
    expect(root.libraries() == ["libsynfire0.so", "libsynfire0.so.0", f"libsynfire0.so.{version}"],
           f"after an upgrade: {root.libraries()}")
    check_programs(root, work, version, compilers)

    if cuda is None or not (cuda / "CPackConfig.cmake").exists():
        print("the CUDA package: not tested, no build was given")
        return
    packages = pack(cuda, work / "cuda")
    if "libsynfire0-cuda" not in packages:
        print(f"the CUDA package: not tested, {cuda} is a build for the host only")
        return
    gpu = packages["libsynfire0-cuda"]
    check_contents(gpu, version, "libsynfire0-cuda", "libsynfire0")
    # One takes the other's place, in both directions; never both.
    root.dpkg("--install", gpu)
    expect(root.installed() == {"libsynfire0-cuda", "libsynfire-dev"}, f"installed: {root.installed()}")
    expect({"gcc.txt", "cuda.txt"} <= root.licences(), f"licences: {root.licences()}")
    check_programs(root, work, version, compilers)
    root.dpkg("--install", runtime)
    expect(root.installed() == {"libsynfire0", "libsynfire-dev"}, f"installed: {root.installed()}")
    expect(root.licences() == {"gcc.txt"}, f"licences: {root.licences()}")
    root.dpkg("--remove", "libsynfire-dev", "libsynfire0")
    expect(not root.libraries(), f"left after removing: {root.libraries()}")


if __name__ == "__main__":
    main()
    print("passed")
