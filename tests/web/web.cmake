# Tests of the page. The first one builds it into this build folder, and ctest runs it before the
# others; where clang, lld or wasi-libc is missing, all are skipped, and each where Node or Chromium is.
# `make test-long PARTS=web` has all models, all kernels and the long training.
if(ATTEND_SANITIZE OR ATTEND_MINIMAL OR ATTEND_COVERAGE)
  return()
endif()
set(page ${CMAKE_BINARY_DIR}/web)
attend_test(web_build ${PROJECT_SOURCE_DIR}/tests/web/build ${page})
set_tests_properties(web_build PROPERTIES FIXTURES_SETUP page)

# attend_page_test(name command…): a test that needs the page.
function(attend_page_test name)
  attend_test(${name} ${ARGN})
  set_tests_properties(${name} PROPERTIES FIXTURES_REQUIRED page)
endfunction()
attend_page_test(web_same_bits ${PROJECT_SOURCE_DIR}/tests/web/same_bits $<TARGET_FILE:attend_program> ${page}
  --kernels best)
find_program(NODE node)
foreach(name errors playground)
  if(NODE)
    attend_page_test(web_${name} ${NODE} ${PROJECT_SOURCE_DIR}/tests/web/${name}.mjs ${page})
  else()
    attend_test(web_${name} printf "1..1\\nok 1 - ${name} of the page # SKIP no Node\\n")
  endif()
endforeach()
find_program(SYSTEM_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH) # the one that has Debian's selenium
if(NOT SYSTEM_PYTHON)
  set(SYSTEM_PYTHON python3)
endif()
attend_page_test(web_browser ${SYSTEM_PYTHON} ${PROJECT_SOURCE_DIR}/tests/web/browser $<TARGET_FILE:attend_program> ${page})
