# Writes OUTPUT, a .cc file that defines baton::kCommit for the checkout SOURCE_DIR. Leaves it alone where it says the
# same already, so that nothing is compiled for it.
execute_process(
  COMMAND ${CMAKE_COMMAND} -E env GIT_OPTIONAL_LOCKS=0 git describe --always --dirty --exclude=*
  WORKING_DIRECTORY ${SOURCE_DIR}
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed OR commit STREQUAL "")
  set(commit unknown)
endif()
string(JOIN "\n" text
  "#include \"tools/baton/commit.h\"" "" "namespace baton {" ""
  "const char* const kCommit = \"${commit}\";" "" "}  // namespace baton" "")
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "${text}")
