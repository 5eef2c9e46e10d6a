# baton_library(NAME SOURCES ... [LINKS ...]): one static library per folder; LINKS state the layers below it.
function(baton_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC baton_options ${arg_LINKS})
endfunction()

# baton_test(NAME SOURCES ... LINKS ... [LABELS ...]): one doctest program, registered under CTest by its name.
function(baton_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS;LABELS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE baton_options baton_test_main ${arg_LINKS})
  add_test(NAME ${name} COMMAND ${name})
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 900 WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
endfunction()
