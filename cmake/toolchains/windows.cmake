# 64-bit Windows, cross-compiled by mingw-w64 on another machine. Its programs, tests included, run under Wine. Sets the
# compilers, where libraries are searched, and the emulator. Debian packages: g++-mingw-w64-x86-64-posix, wine64.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)

# The variant whose std::thread and std::mutex are winpthread's; the other one has none.
set(synfire_triplet x86_64-w64-mingw32)
set(CMAKE_C_COMPILER ${synfire_triplet}-gcc-posix)
set(CMAKE_CXX_COMPILER ${synfire_triplet}-g++-posix)
set(CMAKE_RC_COMPILER ${synfire_triplet}-windres)

# Programs need nothing beside them but Windows, as the library does.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static")

# Libraries and packages come from the target only, programs from the build machine. Headers that are the same
# everywhere (GoogleTest, nlohmann-json) may come from either.
set(CMAKE_FIND_ROOT_PATH /usr/${synfire_triplet})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)

# Quiet, with a registry of its own (the first program creates it), and without an offer to install .NET or a browser.
find_program(SYNFIRE_WINE NAMES wine)
mark_as_advanced(SYNFIRE_WINE)
if(SYNFIRE_WINE)
  set(CMAKE_CROSSCOMPILING_EMULATOR
    "env;WINEDEBUG=-all;WINEDLLOVERRIDES=mscoree,mshtml=;WINEPREFIX=${CMAKE_BINARY_DIR}/wine;${SYNFIRE_WINE}")
endif()
