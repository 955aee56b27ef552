# Tests of the page, where `make web` has been run (build/web); skipped otherwise, and where Node or
# Chromium is missing. `make test-long PARTS=web` builds the page and runs them whole.
if(ATTEND_SANITIZE OR ATTEND_MINIMAL OR ATTEND_COVERAGE)
  return()
endif()
set(page ${PROJECT_SOURCE_DIR}/build/web)
attend_test(web_same_bits ${PROJECT_SOURCE_DIR}/tests/web/same_bits $<TARGET_FILE:attend_program> ${page}
  --kernels relaxed)
find_program(NODE node)
if(NODE)
  attend_test(web_errors ${NODE} ${PROJECT_SOURCE_DIR}/tests/web/errors.mjs ${page})
  attend_test(web_playground ${NODE} ${PROJECT_SOURCE_DIR}/tests/web/playground.mjs ${page})
endif()
find_program(SYSTEM_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH) # the one that has Debian's selenium
if(NOT SYSTEM_PYTHON)
  set(SYSTEM_PYTHON python3)
endif()
attend_test(web_browser ${SYSTEM_PYTHON} ${PROJECT_SOURCE_DIR}/tests/web/browser $<TARGET_FILE:attend_program> ${page})
