# 64-bit Arm Linux, cross-built on another machine; its programs, the tests among them, run under qemu's user mode.
# What lives here: compilers, where libraries are looked for, and the emulator. Debian: g++-aarch64-linux-gnu, qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)

set(synfire_triplet aarch64-linux-gnu)
set(CMAKE_C_COMPILER ${synfire_triplet}-gcc)
set(CMAKE_CXX_COMPILER ${synfire_triplet}-g++)

# Libraries and packages of the target only; programs are the building machine's. Headers that are the same everywhere
# (GoogleTest, nlohmann-json) may come from either.
set(CMAKE_FIND_ROOT_PATH /usr/${synfire_triplet})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)

# -L: where the emulated program finds its loader and libraries.
find_program(SYNFIRE_QEMU_AARCH64 NAMES qemu-aarch64 qemu-aarch64-static)
mark_as_advanced(SYNFIRE_QEMU_AARCH64)
if(SYNFIRE_QEMU_AARCH64)
  set(CMAKE_CROSSCOMPILING_EMULATOR "${SYNFIRE_QEMU_AARCH64};-L;/usr/${synfire_triplet}")
endif()
