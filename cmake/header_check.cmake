# header_check: every header compiled alone, so that none leans on what happened to be included before it.
# Not part of `all`; `make lint` builds it.
file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/src/m0/*.hpp)
file(GLOB_RECURSE public_headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/include
  ${PROJECT_SOURCE_DIR}/include/m0/*.hpp)

set(checks)
set(python_checks)
foreach(header ${headers} ${public_headers})
  string(REPLACE "/" "_" name ${header})
  set(source ${PROJECT_BINARY_DIR}/header_check/${name}.cpp)
  # Twice, because a header without its guard compiles once.
  file(CONFIGURE OUTPUT ${source} CONTENT "#include \"@header@\"\n#include \"@header@\"\n" @ONLY)
  if(header MATCHES "^m0/python/")
    list(APPEND python_checks ${source})
  else()
    list(APPEND checks ${source})
  endif()
endforeach()

add_library(header_check OBJECT EXCLUDE_FROM_ALL ${checks})
target_link_libraries(header_check PRIVATE m0_options Threads::Threads fmt::fmt)
if(M0_PYTHON AND python_checks)
  execute_process(COMMAND ${M0_PYTHON_EXECUTABLE} -c "import sysconfig; print(sysconfig.get_path('include'))"
    OUTPUT_VARIABLE python_include OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  add_library(header_check_python OBJECT EXCLUDE_FROM_ALL ${python_checks})
  target_link_libraries(header_check_python PRIVATE m0_options Threads::Threads fmt::fmt)
  target_include_directories(header_check_python SYSTEM PRIVATE ${python_include})
  target_compile_definitions(header_check_python PRIVATE Py_LIMITED_API=0x030B0000)
  add_dependencies(header_check header_check_python)
endif()
