# Compiler flags for everything that is ours, as one interface target. ccache and mold are used where found.
add_library(baton_options INTERFACE)
target_compile_options(baton_options INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Werror -fno-omit-frame-pointer)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports coroutine frames falsely: its allocation and deallocation are matched by Asio, not by the compiler.
  target_compile_options(baton_options INTERFACE -Wno-mismatched-new-delete)
endif()
target_include_directories(baton_options INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR})
if(BATON_SANITIZE)
  add_compile_options(-fsanitize=${BATON_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${BATON_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND BATON_SANITIZE MATCHES "thread")
    # Asio's fenced block uses atomic_thread_fence, which the thread sanitizer does not model; ours do not.
    add_compile_options(-Wno-tsan)
  endif()
endif()
if(BATON_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "BATON_FUZZ needs clang: use the preset 'clang'")
  endif()
  # The libraries need the coverage counters; only the fuzz programs get libFuzzer's main().
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

find_program(BATON_CCACHE ccache)
if(BATON_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths relative to the tree, so that a clone in another folder finds what this one compiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros ${BATON_CCACHE})
endif()
find_program(BATON_MOLD mold)
if(BATON_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
