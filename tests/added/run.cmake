# One step of the tests of added models. CMakeLists.txt in this folder lists the variables that it receives.
#
#   build     builds a library with docs/examples/models added, and the programs that test it
#   refused   mistakes in the call and in the header: each is refused with a text that names it
cmake_minimum_required(VERSION 3.22)

set(compilers "-DCMAKE_C_COMPILER=${C_COMPILER}" "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}"
  "-DCMAKE_C_COMPILER_LAUNCHER=${LAUNCHER}" "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}")
set(library -DCMAKE_BUILD_TYPE=Release -DSYNFIRE_CUDA=OFF "-DSYNFIRE_SOURCE_DIR=${SOURCE_DIR}")

function(execute)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  message("$ ${ARGV}\n${output}")
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "failed with ${result}: ${ARGV}")
  endif()
endfunction()

# The command must fail with this text.
function(expect_refusal name text)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " flat "${output}")
  string(FIND "${flat}" "${text}" position)
  if(result EQUAL 0 OR position EQUAL -1)
    message("${output}")
    message(FATAL_ERROR "${name}: status ${result}; a refusal that says \"${text}\" was expected")
  endif()
  message("${name}: refused, \"${text}\"")
endfunction()

if(STEP STREQUAL "build")
  execute("${CMAKE_COMMAND}" -S "${TEST_DIR}/project" -B "${WORK_DIR}" -G "${GENERATOR}" ${compilers} ${library}
    "-DSYNFIRE_WARNINGS_AS_ERRORS=ON" "-DSYNFIRE_UNITY=ON" "-DSYNFIRE_HOST_LEVELS=NATIVE"
    "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG")   # not of the kernels, which have the options of a release
  execute("${CMAKE_COMMAND}" --build "${WORK_DIR}" --parallel 2 --target fit added-tests added-bits)
  # Configuring again must not cause anything to be compiled.
  file(TIMESTAMP "${WORK_DIR}/models/synfire/added/synfire/added_models.hpp" before "%s")
  execute("${CMAKE_COMMAND}" "${WORK_DIR}")
  file(TIMESTAMP "${WORK_DIR}/models/synfire/added/synfire/added_models.hpp" after "%s")
  if(NOT before OR NOT before STREQUAL after)
    message(FATAL_ERROR "the list of added models was written again: \"${before}\", then \"${after}\"")
  endif()

elseif(STEP STREQUAL "refused")
  set(build "${WORK_DIR}/build")
  set(header "${WORK_DIR}/broken.hpp")
  file(REMOVE_RECURSE "${WORK_DIR}")
  file(MAKE_DIRECTORY "${WORK_DIR}")
  file(READ "${SOURCE_DIR}/docs/examples/models/klif.hpp" model)
  string(REPLACE "Klif" "Broken" model "${model}")
  string(REPLACE "KLIF" "BROKEN" model "${model}")
  string(REPLACE "\"klif\"" "\"broken\"" model "${model}")
  file(READ "${SOURCE_DIR}/docs/examples/models/side_lobes.hpp" surrogate)
  string(REPLACE "SideLobes" "Broken" surrogate "${surrogate}")

  function(configure mistake)
    set(arguments "${CMAKE_COMMAND}" -S "${TEST_DIR}/refused" -B "${build}" -G "${GENERATOR}" ${compilers} ${library}
      "-DMISTAKE=${mistake}" ${ARGN} PARENT_SCOPE)
  endfunction()

  # ---- The call ----
  file(WRITE "${header}" "${model}")
  foreach(case
      "twice|struct Broken was added before"
      "no_target|there is no target \"sinfire\""
      "other_target|target \"other\" is not Synfire's library"
      "installed|target \"installed::synfire\" is an installed library"
      "two_headers|takes two arguments")
    string(REPLACE "|" ";" case "${case}")
    list(GET case 0 mistake)
    list(GET case 1 text)
    configure("${mistake}" "-DHEADER=${header}")
    expect_refusal("${mistake}" "${text}" ${arguments})
  endforeach()
  configure("no_file" "-DHEADER=nowhere.hpp")
  expect_refusal(no_file "there is no file" ${arguments})
  file(WRITE "${WORK_DIR}/Broken.hpp" "${model}")
  configure("capitals" "-DHEADER=${WORK_DIR}/Broken.hpp")
  expect_refusal(capitals "is in small letters" ${arguments})
  file(WRITE "${WORK_DIR}/other_name.hpp" "${model}")
  configure("other_name" "-DHEADER=${WORK_DIR}/other_name.hpp")
  expect_refusal(other_name "defines no \"struct OtherName\"" ${arguments})

# ---- The header: what is replaced, by what, and what the compiler then reports ----
  # The first mistake stops the build of the library. The others are shown by one small file with the same lists as the
  # library's own, without a build, which would configure again for every header.
  configure("none" "-DHEADER=${header}")
  execute(${arguments})
  set(by_build "${CMAKE_COMMAND}" --build "${build}" --target synfire_core)
  set(by_compiler "${CXX_COMPILER}" -std=c++20 -fsyntax-only -DSYNFIRE_ADDED_MODELS=1 "-I${SOURCE_DIR}/include"
    "-I${build}/synfire/added" "${TEST_DIR}/refused/lists.cpp")
  execute(${by_compiler})   # unmodified, it is accepted

  function(expect_refused_header kind name from to text)
    string(REPLACE "${from}" "${to}" broken "${${kind}}")
    if(broken STREQUAL "${${kind}}")
      message(FATAL_ERROR "${name}: \"${from}\" is not in the header")
    endif()
    file(WRITE "${header}" "${broken}")
    expect_refusal("${name}" "synfire_add_model: ${text}" ${command})
  endfunction()

  set(name_of_model "static constexpr const char* name = \"broken\"\;")
  string(REPLACE "\\;" ";" name_of_model "${name_of_model}")
  set(command ${by_build})
  expect_refused_header(model no_name "${name_of_model}" "" "the struct has no `static constexpr const char* name`")
  set(command ${by_compiler})
  expect_refused_header(model no_name "${name_of_model}" "" "the struct has no `static constexpr const char* name`")
  expect_refused_header(model empty_name "\"broken\"" "\"\"" "`name` must be letters")
  expect_refused_header(model spaced_name "\"broken\"" "\"bro ken\"" "`name` must be letters")
  expect_refused_header(model name_of_a_built_in "\"broken\"" "\"lif\"" "duplicate name")
  expect_refused_header(model default_outside "\"relu_k\", 1.0, 0.0" "\"relu_k\", -1.0, 0.0" "bad range")
  expect_refused_header(model infinite_range "\"relu_k\", 1.0, 0.0" "\"relu_k\", 1.0, -1e999" "bad range")
  expect_refused_header(model empty_range "\"relu_k\", 1.0, 0.0, unbounded" "\"relu_k\", 1.0, 0.0, 0.0" "bad range")
  expect_refused_header(model reciprocal_of_zero "true, nullptr, \"\"" "false, \"one_over_k\", \"\"" "bad range")
  expect_refused_header(model parameter_twice "\"relu_k\"" "\"tau\"" "two parameters share a name")
  expect_refused_header(model parameter_of_all "\"relu_k\"" "\"v_reset\"" "two parameters share a name")
  expect_refused_header(model parameter_of_a_surrogate "\"relu_k\"" "\"alpha\"" "a model and a surrogate share")
  expect_refused_header(model unnamed_parameter "\"relu_k\"" "nullptr" "a parameter's name")
  expect_refused_header(model five_states "n_states = 1" "n_states = 5" "`n_states` must be 1")
  expect_refused_header(model no_states "n_states = 1" "n_states = 0" "`n_states` must be 1")
  expect_refused_header(model unnamed_states "n_states = 1" "n_states = 3" "a model with three or four variables has `states`")
  expect_refused_header(model charge_of_one "n_states = 1" "n_states = 2" "charge() takes the constants")
  string(REPLACE "charge(const C* constants, V v, X x)" "charge(const C* constants, V v, V, X x)" model_of_two "${model}")
  expect_refused_header(model_of_two no_adapt "n_states = 1" "n_states = 2" "a model with a second variable has adapt")
  expect_refused_header(model many_constants "n_constants = 3" "n_constants = 9" "a model has at most 8 constants")
  expect_refused_header(model no_charge "auto charge(" "auto charges(" "the struct has neither charge")
  expect_refused_header(model no_default_v_reset "default_v_reset" "v_reset" "a model needs")
  expect_refused_header(model both "  template <class T>"
    "  template <class R> static R derivative(const R*, R x) { return x; }\n  template <class T>"
    "the struct has charge() and derivative()")

  file(WRITE "${header}" "${surrogate}")
  execute(${by_compiler})
  expect_refused_header(surrogate name_of_another "\"side_lobes\"" "\"atan\"" "duplicate name")
  expect_refused_header(surrogate many_constants "n_constants = 4" "n_constants = 5" "a surrogate has 1 to 4 constants")
  expect_refused_header(surrogate parameter_of_a_model "\"sigma\"" "\"tau\"" "a model and a surrogate share")
  expect_refused_header(surrogate default_outside "0.5, 1e-6" "0.5, 0.6" "bad range")

else()
  message(FATAL_ERROR "unknown step \"${STEP}\"")
endif()
