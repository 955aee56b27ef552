# Debian packages by CPack, one for each component: the program, the library, what programs that use the
# library are built with, the Python package where it is built, and a plugin for each MPI that was found.
# scripts/package builds them; names and files are as Debian's policy wants them.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME attend)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(ATTEND_MAINTAINER "attend <attend@example.org>" CACHE STRING "Maintainer of the Debian packages")
set(CPACK_DEBIAN_PACKAGE_MAINTAINER ${ATTEND_MAINTAINER})
set(CPACK_DEBIAN_PACKAGE_VERSION ${PROJECT_VERSION})

# A changelog in Debian's format and a copyright file, which every package must have.
set(doc_files ${CMAKE_CURRENT_BINARY_DIR}/package)
string(TIMESTAMP day "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${doc_files}/changelog "attend (${PROJECT_VERSION}) unstable; urgency=medium\n\n"
  "  * Built from source; see CHANGELOG.md there.\n\n -- ${ATTEND_MAINTAINER}  ${day}\n")
file(WRITE ${doc_files}/copyright
  "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"
  "Upstream-Name: attend\n\nFiles: *\nCopyright: 2026 the contributors of attend\nLicense: Apache-2.0\n"
  " On Debian systems, the text of the Apache License, Version 2.0,\n"
  " is in /usr/share/common-licenses/Apache-2.0.\n")
find_program(GZIP gzip REQUIRED)
function(attend_compress source target)
  execute_process(COMMAND ${GZIP} -9nc ${source} OUTPUT_FILE ${target} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
attend_compress(${doc_files}/changelog ${doc_files}/changelog.gz)
attend_compress(${CMAKE_CURRENT_SOURCE_DIR}/docs/attend.1 ${doc_files}/attend.1.gz)
install(FILES ${doc_files}/attend.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)

# attend_package(component name words sentence depends)
set(CPACK_COMPONENTS_ALL)
macro(attend_package component name words sentence)
  string(TOUPPER ${component} upper)
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${words}\n${sentence}")
  install(FILES ${doc_files}/copyright ${doc_files}/changelog.gz
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name} COMPONENT ${component})
endmacro()

attend_package(program attend "attention worked out, trained and run: the program"
  "attend computes worksheets on attention step by step, trains sequence\nmodels on a plain processor, and generates, evaluates and shows with them.")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "librsvg2-2, libcairo2")
set(library_package libattend${soversion})
attend_package(library ${library_package} "attention in C: the shared library"
  "Attention forward and backward on raw arrays, matrix products, worksheets\nand sequence models, with the same bits on every machine.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
# What packages that use the library depend on, and the order to update the linker's cache.
file(WRITE ${doc_files}/shlibs "libattend ${soversion} ${library_package} (>= ${PROJECT_VERSION})\n")
file(WRITE ${doc_files}/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA "${doc_files}/shlibs;${doc_files}/triggers")
attend_package(dev libattend-dev "attention in C: header and static library"
  "What is needed to build programs that use libattend: the header, the static\nlibrary, and files for pkg-config and CMake.")
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "${library_package} (= ${PROJECT_VERSION})")

if(TARGET attend_python)
  set(modules lib/python3/dist-packages/attend)
  install(TARGETS attend_python LIBRARY DESTINATION ${modules} COMPONENT debian_python EXCLUDE_FROM_ALL)
  install(DIRECTORY python/attend/ DESTINATION ${modules} COMPONENT debian_python EXCLUDE_FROM_ALL
    FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN py.typed PATTERN __pycache__ EXCLUDE)
  # python3 -m attend runs the program of the package attend.
  file(MAKE_DIRECTORY ${doc_files}/bin)
  file(CREATE_LINK ../../../../../bin/attend ${doc_files}/bin/attend SYMBOLIC)
  install(FILES ${doc_files}/bin/attend DESTINATION ${modules}/bin COMPONENT debian_python EXCLUDE_FROM_ALL)
  attend_package(debian_python python3-attend "attention in C: the Python package"
    "Attention on NumPy arrays and other buffers without copies, worksheets in\nnotebooks, training and models.")
  set(CPACK_DEBIAN_DEBIAN_PYTHON_PACKAGE_SECTION python)
  set(CPACK_DEBIAN_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3 (>= 3.11), attend (= ${PROJECT_VERSION})")
endif()

foreach(mpi openmpi mpich)
  if(TARGET attend_mpi_${mpi})
    attend_package(${mpi} attend-${mpi} "attention in C: training over several processes (${mpi})"
      "The plugin by which mpirun -n N attend train shares a run among processes.")
    string(TOUPPER ${mpi} upper)
    set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "attend (= ${PROJECT_VERSION})")
  endif()
endforeach()
include(CPack)
