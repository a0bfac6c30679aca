# One interface target carries the flags of every room: warnings are errors under both compilers.
add_library(m0_options INTERFACE)
# Off where somebody builds a package with a compiler we have not met.
option(M0_WERROR "Warnings are errors" ON)
target_compile_options(m0_options INTERFACE
  -Wall -Wextra -Wpedantic $<$<BOOL:${M0_WERROR}>:-Werror> -Wshadow -Wnon-virtual-dtor -Wold-style-cast
  -Woverloaded-virtual -Wconversion -Wno-sign-conversion -Wimplicit-fallthrough -fno-omit-frame-pointer)
target_include_directories(m0_options INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
target_compile_definitions(m0_options INTERFACE M0_VERSION="${PROJECT_VERSION}")

find_program(M0_MOLD mold)
if(M0_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
find_program(M0_CCACHE ccache)
if(M0_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${M0_CCACHE})
endif()

if(M0_SANITIZE)
  target_compile_options(m0_options INTERFACE -fsanitize=${M0_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${M0_SANITIZE})
  target_compile_definitions(m0_options INTERFACE M0_THREAD_CHECKS=1)
endif()
if(M0_FUZZERS)
  target_compile_options(m0_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
  target_compile_definitions(m0_options INTERFACE M0_THREAD_CHECKS=1)
endif()
