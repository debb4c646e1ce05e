# Writes the commit of SOURCE_DIR to OUTPUT, so that a build folder keeps it when copied to another machine.
execute_process(COMMAND "${GIT}" -C "${SOURCE_DIR}" describe --always --dirty=-modified --abbrev=40 --exclude=*
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  set(commit unknown)
endif()
file(WRITE "${OUTPUT}" "${commit}\n")
