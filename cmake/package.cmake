# find_package(m0serve) gives m0::server: the native door as one static library and the headers that it reaches.
add_library(m0serve STATIC)
set(rooms base http net pool websocket pubsub handler held server process cli native)
foreach(room ${rooms})
  target_sources(m0serve PRIVATE $<TARGET_OBJECTS:m0_${room}>)
endforeach()
# A static library made of other targets' objects has no source that could tell its language.
set_target_properties(m0serve PROPERTIES LINKER_LANGUAGE CXX EXPORT_NAME server)
target_compile_features(m0serve INTERFACE cxx_std_23)
target_link_libraries(m0serve PUBLIC Threads::Threads fmt::fmt ZLIB::ZLIB)
target_include_directories(m0serve INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
  $<INSTALL_INTERFACE:include>)
add_library(m0::server ALIAS m0serve)

include(CMakePackageConfigHelpers)
install(TARGETS m0serve EXPORT m0serve ARCHIVE DESTINATION lib)
install(EXPORT m0serve NAMESPACE m0:: DESTINATION lib/cmake/m0serve FILE m0serve-targets.cmake)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/package/m0serve-config.cmake @ONLY CONTENT [[
include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_dependency(fmt)
find_dependency(ZLIB)
include(${CMAKE_CURRENT_LIST_DIR}/m0serve-targets.cmake)
]])
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/m0serve-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/m0serve-config.cmake
  ${PROJECT_BINARY_DIR}/package/m0serve-config-version.cmake DESTINATION lib/cmake/m0serve)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/m0 DESTINATION include FILES_MATCHING PATTERN "*.hpp")
# What m0.hpp reaches; a test compiles it from there alone.
foreach(room base http pool pubsub handler native)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/m0/${room} DESTINATION include/m0
    FILES_MATCHING PATTERN "*.hpp" PATTERN "*_test.hpp" EXCLUDE)
endforeach()
