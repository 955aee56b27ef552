# The program as its users see it: each case file is a CTest test, each case in it is counted.
file(GLOB cases CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/program/cases/*.case)
if(RSVG_FOUND)
  list(FILTER cases EXCLUDE REGEX without_librsvg)
else()
  list(FILTER cases EXCLUDE REGEX with_librsvg)
endif()
if(NOT ZIP_FOUND) # an example reads .npz
  list(FILTER cases EXCLUDE REGEX examples)
endif()
if(ATTEND_MINIMAL) # nothing in these depends on a library
  list(FILTER cases EXCLUDE REGEX "(bench|checksum|gradcheck|grade|header_limits|overflow|selftest_scalar|terminal)\\.case")
endif()
if(ATTEND_SANITIZE) # test_selftest runs the same code
  list(FILTER cases EXCLUDE REGEX selftest)
endif()
foreach(file ${cases})
  get_filename_component(name ${file} NAME_WE)
  attend_test(program_${name} ${CMAKE_CURRENT_SOURCE_DIR}/program/run ${PROJECT_BINARY_DIR} ${file})
endforeach()

# Tests that run the program inside themselves, main() renamed and its heap counted.
add_library(attend_program_in_tests OBJECT ${ATTEND_PROGRAM_SOURCES})
target_include_directories(attend_program_in_tests PRIVATE ${PROJECT_SOURCE_DIR}/include
  ${PROJECT_SOURCE_DIR}/src)
target_compile_definitions(attend_program_in_tests PRIVATE main=attend_main calloc=counted_calloc
  realloc=counted_realloc strdup=counted_strdup free=counted_free)
target_compile_options(attend_program_in_tests PRIVATE -Wno-missing-prototypes)
foreach(test test_explain_memory test_bench_program test_overlay_program)
  target_link_libraries(${test} PRIVATE attend_program_in_tests)
endforeach()
if(RSVG_FOUND)
  target_include_directories(attend_program_in_tests SYSTEM PRIVATE ${RSVG_INCLUDE_DIRS})
  target_link_libraries(attend_program_in_tests PUBLIC ${CMAKE_DL_LIBS})
  target_compile_definitions(attend_program_in_tests PUBLIC ATT_HAVE_RSVG)
endif()
