# 64-bit Arm Linux, cross-compiled on another machine. Its programs, tests included, run under QEMU user mode. Sets the
# compilers, where libraries are searched, and the emulator. Debian packages: g++-aarch64-linux-gnu, qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)

set(synfire_triplet aarch64-linux-gnu)
set(CMAKE_C_COMPILER ${synfire_triplet}-gcc)
set(CMAKE_CXX_COMPILER ${synfire_triplet}-g++)

# Libraries and packages come from the target only, programs from the build machine. Headers that are the same
# everywhere (GoogleTest, nlohmann-json) may come from either.
set(CMAKE_FIND_ROOT_PATH /usr/${synfire_triplet})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)

# -L: where the emulated program finds its dynamic loader and libraries.
find_program(SYNFIRE_QEMU_AARCH64 NAMES qemu-aarch64 qemu-aarch64-static)
mark_as_advanced(SYNFIRE_QEMU_AARCH64)
if(SYNFIRE_QEMU_AARCH64)
  set(CMAKE_CROSSCOMPILING_EMULATOR "${SYNFIRE_QEMU_AARCH64};-L;/usr/${synfire_triplet}")
endif()
