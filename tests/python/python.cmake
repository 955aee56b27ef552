# Tests of the Python package: pytest with the package of this build. Where python3-dev, NumPy or
# pytest is missing they are skipped with a note.
if(NOT ATTEND_PYTHON_PACKAGE OR ATTEND_MINIMAL OR ATTEND_COVERAGE)
  return()
endif()
if(NOT ATTEND_PYTHON)
  attend_test(python_package printf "1..1\\nok 1 - the Python package # SKIP no python3-dev\\n")
  return()
endif()
# An instrumented extension in an interpreter that is not: the sanitizers come first.
set(preload)
if(ATTEND_SANITIZE)
  foreach(name asan ubsan)
    execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=lib${name}.so
      OUTPUT_VARIABLE file OUTPUT_STRIP_TRAILING_WHITESPACE)
    list(APPEND preload ${file})
  endforeach()
endif()
list(JOIN preload ":" preload)
# One CTest test per file, so that they run side by side.
file(GLOB files CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/tests/python/test_*.py)
foreach(file ${files})
  get_filename_component(name ${file} NAME_WE)
  string(REPLACE "test_" "python_" name ${name})
  attend_test(${name} ${PROJECT_SOURCE_DIR}/tests/python/run ${ATTEND_PYTHON}
    ${CMAKE_BINARY_DIR}/python ${file} ${preload})
endforeach()
