# build_tarballs.jl - the recipe of Synfire_jll for BinaryBuilder, Julia's tool that builds C libraries for every system:
#
#     julia build_tarballs.jl --verbose
#
# It builds this repository, as it lies around this file. The tests read it with a stand-in for BinaryBuilder, and check what it
# asks for; BinaryBuilder itself has not run it. To publish, the line of `sources` takes the address that the sources come from.
using BinaryBuilder
using SHA: sha256

const root = abspath(joinpath(@__DIR__, "..", ".."))
version = VersionNumber(match(r"project\(synfire VERSION ([0-9.]+)", read(joinpath(root, "CMakeLists.txt"), String)).captures[1])

# The files that CMake reads to build and install the library alone.
folders = [DirectorySource(joinpath(root, name); target=name) for name in ("cmake", "include", "src", "capi")]
checksum(path) = bytes2hex(open(sha256, path))
files = [FileSource("file://" * joinpath(root, name), checksum(joinpath(root, name))) for name in ("CMakeLists.txt", "LICENSE", "CHANGELOG.md")]
sources = [folders; files]

script = raw"""
cd ${WORKSPACE}/srcdir
cmake -B build -DCMAKE_INSTALL_PREFIX=${prefix} -DCMAKE_TOOLCHAIN_FILE=${CMAKE_TARGET_TOOLCHAIN} -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_INSTALL_LIBDIR=lib -DSYNFIRE_CUDA=OFF -DSYNFIRE_BUILD_TESTS=OFF -DSYNFIRE_BUILD_TOOLS=OFF -DSYNFIRE_BUILD_EXAMPLES=OFF
cmake --build build --parallel ${nproc}
cmake --install build
install_license LICENSE
"""

platforms = [Platform("x86_64", "linux"; libc="glibc"), Platform("aarch64", "linux"; libc="glibc"), Platform("x86_64", "windows")]
products = [LibraryProduct(["libsynfire0", "synfire0"], :libsynfire0)]
dependencies = Dependency[]

# GCC 11 is the oldest that compiles it.
build_tarballs(ARGS, "Synfire", version, sources, script, platforms, products, dependencies; julia_compat="1.6",
               preferred_gcc_version=v"11")
