# Checks of the tree and of what was built. They look at files, so once is enough: not again under
# the sanitizers or in the minimal build.
if(ATTEND_SANITIZE OR ATTEND_MINIMAL)
  return()
endif()
set(checks ${PROJECT_SOURCE_DIR}/tests/checks)

attend_test(check_layers ${checks}/layers ${CMAKE_BINARY_DIR}/CMakeFiles ${CMAKE_C_COMPILER})
attend_test(check_names ${checks}/names)
attend_test(check_terms ${checks}/terms)
attend_test(check_portable ${checks}/portable)
attend_test(check_header ${checks}/header ${CMAKE_C_COMPILER})
attend_test(check_symbols ${checks}/symbols $<TARGET_FILE:attend_static>
  $<TARGET_FILE:attend_shared>)
attend_test(check_libm ${checks}/libm $<TARGET_FILE:attend_static>)
attend_test(check_style ${checks}/style)
attend_test(check_counting ${checks}/counting)
attend_test(check_commands ${checks}/commands ${CMAKE_BINARY_DIR})
attend_test(check_documented ${checks}/documented $<TARGET_FILE:attend_program>)
add_executable(settings_table ${checks}/settings_table.c)
target_link_libraries(settings_table PRIVATE attend_static ${ATTEND_LIBRARIES})
attend_test(check_settings ${checks}/settings $<TARGET_FILE:settings_table>)
attend_test(check_unicode ${checks}/unicode)
attend_test(check_fuzz_build ${checks}/fuzz_build)
attend_test(check_setup ${checks}/setup)
attend_test(check_examples ${checks}/examples ${CMAKE_BINARY_DIR}/examples
  $<TARGET_FILE:attend_program>)
attend_test(check_install ${checks}/install ${CMAKE_BINARY_DIR})

# The same bits from several processes, with each MPI that is installed; `make test-long` has all models.
attend_test(processes ${PROJECT_SOURCE_DIR}/tests/processes/run $<TARGET_FILE:attend_program> --every 20)
# Memory that runs out in one of them. Not under the sanitizers, which replace the functions that fail here.
if(NOT ATTEND_SANITIZE AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
  add_library(fail_memory MODULE ${PROJECT_SOURCE_DIR}/tests/processes/fail_memory.c)
  set_target_properties(fail_memory PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  target_compile_options(fail_memory PRIVATE -fno-builtin)
  attend_test(processes_memory ${PROJECT_SOURCE_DIR}/tests/processes/memory $<TARGET_FILE:attend_program>
    $<TARGET_FILE:fail_memory> --points 4 --only pairs)
endif()

# Results to the last bit. Plain C is slow: every fourth model and one number of threads there, all on
# the vector sets. `make test-long` has all on all.
attend_test(bits_vector ${PROJECT_SOURCE_DIR}/tests/bits/run $<TARGET_FILE:attend_program>
  --cpu vector)
attend_test(bits_scalar ${PROJECT_SOURCE_DIR}/tests/bits/run $<TARGET_FILE:attend_program>
  --cpu scalar --threads 2 --every 4)
