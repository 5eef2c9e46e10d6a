# baton_library(NAME SOURCES ... [LINKS ...] [MUTANTS]): one static library per folder; LINKS state the layers below it.
# With MUTANTS there is also NAME_mutants for the tests of the tests: the same sources, built so that protections can be
# taken out (src/runtime/mutants.h), on the _mutants of the layers below. Never both kinds in one program.
function(baton_library name)
  cmake_parse_arguments(arg "MUTANTS" "" "SOURCES;LINKS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC baton_options ${arg_LINKS})
  if(arg_MUTANTS AND BATON_TESTS)
    set(links "")
    foreach(link ${arg_LINKS})
      if(TARGET ${link}_mutants)
        set(link ${link}_mutants)
      endif()
      list(APPEND links ${link})
    endforeach()
    add_library(${name}_mutants STATIC EXCLUDE_FROM_ALL ${arg_SOURCES})
    target_compile_definitions(${name}_mutants PUBLIC BATON_MUTANTS)
    target_link_libraries(${name}_mutants PUBLIC baton_options ${links})
  endif()
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

# baton_python_test(NAME SCRIPT [VENV] [ARGS ...] [LABELS ...]): a Python test, its script relative to the root of the
# tree. It runs on the system's python3 with the standard library alone, or with VENV in the environment of
# tools/python_env (skipped, visibly, where that cannot be had).
function(baton_python_test name script)
  cmake_parse_arguments(arg "VENV" "" "ARGS;LABELS" ${ARGN})
  if(arg_VENV)
    set(launcher ${CMAKE_SOURCE_DIR}/tools/python_env --run)
  else()
    set(launcher python3)
  endif()
  add_test(NAME ${name} COMMAND ${launcher} ${CMAKE_SOURCE_DIR}/${script} ${arg_ARGS})
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 900 SKIP_RETURN_CODE 77
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} ENVIRONMENT "BATON_BUILD_DIR=${CMAKE_BINARY_DIR};PYTHONDONTWRITEBYTECODE=1")
endfunction()

# baton_fuzz(NAME SOURCES ... LINKS ...): a libFuzzer program build/<preset>/fuzz/NAME, where BATON_FUZZ is on. Its kept
# corpus lies in tests/fuzz/corpus/NAME; .ci/run gives every program in that folder a minute.
function(baton_fuzz name)
  if(NOT BATON_FUZZ)
    return()
  endif()
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE baton_options ${arg_LINKS})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
endfunction()

# baton_header_check(): the target header_check compiles every header of src/ and sim/ by itself. A header that is the
# first include of its own .cc file is proven by that already. The list is made anew whenever CMake configures.
function(baton_header_check)
  file(GLOB_RECURSE headers RELATIVE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/src/*.h
    ${CMAKE_SOURCE_DIR}/sim/*.h)
  set(sources "")
  foreach(header ${headers})
    string(REGEX REPLACE "\\.h$" ".cc" source ${header})
    string(REGEX REPLACE "^src/" "" include ${header})
    if(EXISTS ${CMAKE_SOURCE_DIR}/${source})
      file(STRINGS ${CMAKE_SOURCE_DIR}/${source} first REGEX "^#include" LIMIT_COUNT 1)
      if(first STREQUAL "#include \"${include}\"")
        continue()
      endif()
    endif()
    set(generated ${CMAKE_BINARY_DIR}/header_check/${header}.cc)
    file(CONFIGURE OUTPUT ${generated} CONTENT "#include \"${include}\"\n")
    # Vector types need their instruction set, which the including .cc file is compiled for.
    if(header MATCHES "_avx512\\.h$")
      set_source_files_properties(${generated} PROPERTIES COMPILE_OPTIONS
        "-mavx2;-mfma;-mf16c;-mavx512f;-mavx512bw;-mavx512vl;-mavx512dq;-mavx512vnni")
    elseif(header MATCHES "_avx2\\.h$")
      set_source_files_properties(${generated} PROPERTIES COMPILE_OPTIONS "-mavx2;-mfma;-mf16c")
    endif()
    list(APPEND sources ${generated})
  endforeach()
  add_library(header_check OBJECT EXCLUDE_FROM_ALL ${sources})
  # Headers that only some translation units use whole define functions of their own namespace for them.
  target_compile_options(header_check PRIVATE -O0 -g0 -Wno-unused-function)
  target_link_libraries(header_check PRIVATE baton_options baton_beast fmt::fmt)
endfunction()
