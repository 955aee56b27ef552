# What `make install` puts where, and the two ways by which others find it: pkg-config and
# find_package(attend). Both are relative to where they lie, so a moved tree still works.
include(CMakePackageConfigHelpers)

install(TARGETS attend_static attend_shared EXPORT attend-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT dev)
install(TARGETS attend_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
install(FILES include/attend.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)
if(NOT ATTEND_PACKAGE) # a Debian package has a compressed one
  install(FILES docs/attend.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
endif()
install(FILES tools/completion/attend.bash RENAME attend
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT program)
install(FILES tools/completion/_attend
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT program)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/attend)
install(EXPORT attend-targets NAMESPACE attend:: DESTINATION ${package_dir} COMPONENT dev)
configure_package_config_file(cmake/attend-config.cmake.in attend-config.cmake
  INSTALL_DESTINATION ${package_dir})
# SameMinorVersion: a minor version may break the API while the major version is 0.
write_basic_package_version_file(attend-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/attend-config.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/attend-config-version.cmake DESTINATION ${package_dir} COMPONENT dev)

# From the folder of the .pc file back to the prefix.
file(RELATIVE_PATH pc_to_prefix "/p/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/p")
string(REGEX REPLACE "/$" "" pc_to_prefix "${pc_to_prefix}")
list(JOIN ATTEND_PC_LIBS " " pc_libs)
configure_file(cmake/attend.pc.in attend.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/attend.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
