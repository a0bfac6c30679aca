# cmake --install build/release --prefix DIR: the launcher in DIR/bin, the package in DIR/lib/m0serve.
# Inside a wheel only the module is ours to place; the package's files and the command are listed in pyproject.toml.
if(NOT TARGET m0_core)
  return()
endif()

# What serves, without tests and benchmarks.
add_custom_target(program DEPENDS m0_core)

if(SKBUILD)
  install(TARGETS m0_core LIBRARY DESTINATION m0serve COMPONENT wheel)
  return()
endif()

install(TARGETS m0_core LIBRARY DESTINATION lib/m0serve)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/m0serve/ DESTINATION lib/m0serve
  FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)
# The launcher names its package's folder, which is known when it is installed and not before.
install(CODE "
  set(M0_LAUNCHER_PYTHON \"${M0_PYTHON_EXECUTABLE}\")
  set(M0_LAUNCHER_PACKAGE_PARENT \"\${CMAKE_INSTALL_PREFIX}/lib\")
  configure_file(\"${PROJECT_SOURCE_DIR}/src/m0/python/launcher.in\" \"${PROJECT_BINARY_DIR}/installed/m0serve\" @ONLY)
")
install(PROGRAMS ${PROJECT_BINARY_DIR}/installed/m0serve DESTINATION bin)
