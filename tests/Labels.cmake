# Labels of tests, and tests of GoogleTest programs by file.
#
# A label says what a test is for, so that a build runs the tests that can fail in it and compiles no others:
#
#   numbers    what it computes could depend on the compiler or the processor: clang, 64-bit Arm, Windows
#   threads    several threads use one object, or share work: ThreadSanitizer, the other threadings of the host backend
#   system     it depends on the operating system (files, memory, how threads start and wait, clocks): Windows
#   memory     none of these, and a mistake in it could touch memory that it must not
#   texts      it compiles texts at run time: clang
#   fuzz       guided by coverage, with clang's libFuzzer
#   once       it depends on none of these and runs in one build: texts compiled at run time, command lines, documents
#   slow       takes more than about 8 s, or needs one that does: not part of the quick run. Beside the others
#   windows, docs, install, bindings    the steps of tests/run.sh of these names
#
# Tests of the first four labels run under AddressSanitizer too. The plain build runs all tests, those without a label
# included.
#
# SYNFIRE_TEST_LABELS: the labels of the tests that a build is for; empty: all. Files of other tests are not compiled.
set(SYNFIRE_TEST_LABELS "" CACHE STRING "Labels of the tests that are compiled, a list; empty: all (tests/Labels.cmake)")
set(SYNFIRE_LABELS_OF_TESTS numbers threads system memory texts fuzz once windows docs install bindings)
foreach(label IN LISTS SYNFIRE_TEST_LABELS)
  if(NOT label IN_LIST SYNFIRE_LABELS_OF_TESTS)
    message(FATAL_ERROR "SYNFIRE_TEST_LABELS has \"${label}\"; allowed are ${SYNFIRE_LABELS_OF_TESTS}")
  endif()
endforeach()

# synfire_wanted(OUT LABEL...): whether this build compiles tests with these labels.
function(synfire_wanted out)
  set(wanted OFF)
  if(NOT SYNFIRE_TEST_LABELS)
    set(wanted ON)
  endif()
  foreach(label IN LISTS ARGN)
    if(label IN_LIST SYNFIRE_TEST_LABELS)
      set(wanted ON)
    endif()
  endforeach()
  set(${out} ${wanted} PARENT_SCOPE)
endfunction()

# synfire_labelled(LABELS FILE...): these files' tests have these labels (a list, which may be empty). Appends those that this
# build compiles to the variable test_files.
macro(synfire_labelled labels)
  synfire_wanted(synfire_wanted_ ${labels})
  if(synfire_wanted_)
    foreach(synfire_file_ ${ARGN})
      set_property(SOURCE ${synfire_file_} PROPERTY SYNFIRE_LABELS "${labels}")
      list(APPEND test_files ${synfire_file_})
    endforeach()
  endif()
endmacro()

# synfire_add_gtests(PROGRAM PREFIX P [FILES F...] [LABELS L...] [NOT FILTER] [TIMEOUT S] [ENVIRONMENT E...])
#
# One test `<P><file without _test.cpp>` for each file, which runs the file's tests in one process, and `<P>others.PROGRAM` for
# tests that the files do not show (made by macros, or added since CMake last ran). Without FILES, one test `<P><program>`.
# A file has its own labels (synfire_labelled), or LABELS. NOT: tests that are left out, in GoogleTest's notation.
function(synfire_add_gtests program)
  cmake_parse_arguments(given "" "PREFIX;NOT;TIMEOUT" "FILES;LABELS;ENVIRONMENT" ${ARGN})
  set(timeout 1800)  # for what hangs, on a slow machine under an emulator too
  if(given_TIMEOUT)
    set(timeout ${given_TIMEOUT})
  endif()
  set(all "")
  foreach(file IN LISTS given_FILES)
    file(READ "${file}" text)
    string(REGEX MATCHALL "(TYPED_)?TEST[_FP]*\\([ \n]*[A-Za-z0-9_]+,[ \n]*[A-Za-z0-9_]+\\)" tests "${text}")
    set(filter "")
    foreach(test IN LISTS tests)
      string(REGEX MATCH "^([A-Z_]+)\\([ \n]*([A-Za-z0-9_]+),[ \n]*([A-Za-z0-9_]+)\\)" matched "${test}")
      set(suite "${CMAKE_MATCH_2}")
      set(case "${CMAKE_MATCH_3}")
      if(test MATCHES "^TYPED")
        list(APPEND filter "${suite}/*.${case}" "*/${suite}/*.${case}")
      elseif(test MATCHES "^TEST_P")
        list(APPEND filter "*/${suite}.${case}/*")
      else()
        list(APPEND filter "${suite}.${case}")
      endif()
    endforeach()
    if(NOT filter)
      continue()
    endif()
    list(APPEND all ${filter})
    get_filename_component(name "${file}" NAME_WE)
    string(REGEX REPLACE "_test$" "" name "${name}")
    get_property(labels SOURCE "${file}" PROPERTY SYNFIRE_LABELS)
    if(NOT labels)
      set(labels ${given_LABELS})
    endif()
    synfire_add_gtest("${given_PREFIX}${name}" "${filter}" "${labels}")
  endforeach()
  if(NOT given_FILES)
    string(REGEX REPLACE "^synfire-|-tests?$" "" name "${program}")
    synfire_add_gtest("${given_PREFIX}${name}" "" "${given_LABELS}")
  else()
    # In a file, because Windows has a limit on the length of a command.
    list(APPEND all ${given_NOT})
    list(JOIN all ":" all)
    set(flags "${CMAKE_CURRENT_BINARY_DIR}/${program}-others.txt")
    file(WRITE "${flags}" "--gtest_filter=-${all}\n")
    add_test(NAME ${given_PREFIX}others.${program} COMMAND ${program} --gtest_brief=1 "--gtest_flagfile=${flags}")
    set_tests_properties(${given_PREFIX}others.${program} PROPERTIES TIMEOUT ${timeout} LABELS "${given_LABELS}"
      ENVIRONMENT "${given_ENVIRONMENT}")
  endif()
endfunction()

# A helper of synfire_add_gtests(), in its scope.
macro(synfire_add_gtest name filter labels)
  set(arguments "")
  set(synfire_filter_ "${filter}")
  list(JOIN synfire_filter_ ":" synfire_filter_)
  if(NOT "${given_NOT}" STREQUAL "")
    string(APPEND synfire_filter_ "-${given_NOT}")
  endif()
  if(NOT synfire_filter_ STREQUAL "")
    set(arguments "--gtest_filter=${synfire_filter_}")
  endif()
  add_test(NAME ${name} COMMAND ${program} --gtest_brief=1 ${arguments})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${timeout} LABELS "${labels}" ENVIRONMENT "${given_ENVIRONMENT}")
endmacro()

# synfire_slow(TEST...): labels those of these tests that this build has. In the folder that adds them.
function(synfire_slow)
  foreach(test IN LISTS ARGN)
    if(TEST ${test})
      set_property(TEST ${test} APPEND PROPERTY LABELS slow)
    endif()
  endforeach()
endfunction()
