# The licences of what is linked into the library: one text for each, and LINKED.txt, which lists them.
#
# Sets SYNFIRE_LICENSE_FILES, which Install.cmake installs, and SYNFIRE_LICENSES_MISSING, the cache variables of those
# that were not found: without them nothing is packed (PackageChecks.cmake). A static library has nothing of other projects
# in it but what is compiled from their headers; its users link the rest themselves.
set(SYNFIRE_LICENSE_FILES "")
set(SYNFIRE_LICENSES_MISSING "")
set(synfire_license_folder "${PROJECT_BINARY_DIR}/licenses")
set(synfire_linked "")

# synfire_add_license(NAME "What it is" "Its licence" CANDIDATES...): the first candidate that exists is the text, unless
# SYNFIRE_LICENSE_NAME says otherwise. Candidates may be patterns.
function(synfire_add_license name what license)
  string(TOUPPER "SYNFIRE_LICENSE_${name}" variable)
  if(NOT ${variable} OR NOT EXISTS "${${variable}}")
    file(GLOB found ${ARGN})
    list(SORT found)
    list(POP_FRONT found first)
    set(${variable} "${first}" CACHE FILEPATH "The licence of ${what}" FORCE)
    mark_as_advanced(${variable})
  endif()
  if(${variable})
    configure_file("${${variable}}" "${synfire_license_folder}/${name}.txt" COPYONLY)
    set(SYNFIRE_LICENSE_FILES "${SYNFIRE_LICENSE_FILES};${synfire_license_folder}/${name}.txt" PARENT_SCOPE)
  else()
    set(SYNFIRE_LICENSES_MISSING "${SYNFIRE_LICENSES_MISSING};${variable}" PARENT_SCOPE)
  endif()
  set(synfire_linked "${synfire_linked}\n${what}\n    ${license}\n    ${name}.txt\n" PARENT_SCOPE)
endfunction()

if(SYNFIRE_HAVE_CUDA)
  get_filename_component(synfire_toolkit "${CUDAToolkit_BIN_DIR}" DIRECTORY)
  synfire_add_license(cccl "NVIDIA's CCCL: of CUB, Thrust and libcu++, parts are compiled in"
    "Apache 2.0 with LLVM exceptions, and others file by file"
    "${synfire_toolkit}/dist-info/nvidia_cuda_cccl-*/licenses/License.txt" "/usr/share/doc/cuda-cccl-*/copyright"
    /usr/share/doc/libcub-dev/copyright /usr/share/doc/libthrust-dev/copyright)
  find_path(SYNFIRE_NVTX_INCLUDE_DIR nvtx3/nvToolsExt.h HINTS ${CUDAToolkit_INCLUDE_DIRS} NO_DEFAULT_PATH)
  mark_as_advanced(SYNFIRE_NVTX_INCLUDE_DIR)
  if(SYNFIRE_NVTX_INCLUDE_DIR)
    synfire_add_license(nvtx "NVIDIA's NVTX, which is compiled in" "Apache 2.0 with LLVM exceptions"
      "${synfire_toolkit}/dist-info/nvidia_nvtx-*/licenses/License.txt" "/usr/share/doc/cuda-nvtx-*/copyright"
      /usr/share/common-licenses/Apache-2.0)
  endif()
endif()
if(BUILD_SHARED_LIBS)
  string(REGEX MATCH "^[0-9]+" synfire_gcc "${CMAKE_CXX_COMPILER_VERSION}")
  if(MINGW)
    synfire_add_license(gcc "GCC's runtime libraries: libstdc++, libgcc" "GPL 3 with the GCC Runtime Library Exception 3.1"
      /usr/share/doc/gcc-mingw-w64-base/copyright)
    synfire_add_license(mingw-w64 "mingw-w64's runtime, with winpthreads" "ZPL 2.1, MIT, BSD and public domain, file by file"
      /usr/share/doc/mingw-w64-x86-64-dev/copyright)
  elseif(UNIX AND NOT APPLE AND SYNFIRE_SANITIZE STREQUAL "")
    synfire_add_license(gcc "GCC's runtime libraries: libstdc++, libgcc" "GPL 3 with the GCC Runtime Library Exception 3.1"
      "/usr/share/doc/gcc-${synfire_gcc}-base/copyright" "/usr/share/doc/gcc-[0-9]*-base/copyright"
      /usr/share/doc/libstdc++6/copyright)
  endif()
  if(SYNFIRE_HAVE_CUDA)
    synfire_add_license(cuda "NVIDIA's CUDA runtime" "NVIDIA's licence agreement, whose attachment A lists it as distributable"
      "${synfire_toolkit}/EULA.txt" "${synfire_toolkit}/LICENSE" "${synfire_toolkit}/dist-info/nvidia_cuda_runtime-*/licenses/License.txt"
      "/usr/share/doc/cuda-cudart-*/copyright" /usr/share/doc/nvidia-cuda-toolkit/copyright)
  endif()
endif()
if(synfire_linked STREQUAL "")
  set(synfire_linked "\nNothing.\n")
endif()
file(CONFIGURE OUTPUT "${synfire_license_folder}/LINKED.txt" CONTENT
"Synfire is under the MIT licence, in LICENSE. Of other projects, these are linked into this build of its library:
@synfire_linked@" @ONLY)
list(APPEND SYNFIRE_LICENSE_FILES "${synfire_license_folder}/LINKED.txt")
list(REMOVE_ITEM SYNFIRE_LICENSE_FILES "")
list(REMOVE_ITEM SYNFIRE_LICENSES_MISSING "")
