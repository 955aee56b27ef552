# Fault injection under every verb: the object that makes calls fail, the optional libraries that the
# program was built with, and a thin sample of what tests/long/faults tries.
add_library(attend_faults MODULE faults/inject.c faults/memory.c faults/calls.c faults/server.c)
set_target_properties(attend_faults PROPERTIES PREFIX "" OUTPUT_NAME faults
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
# GCC would make calloc() of malloc() and memset(), inside calloc().
target_compile_options(attend_faults PRIVATE -fno-builtin -fno-sanitize=all)
target_link_options(attend_faults PRIVATE -fno-sanitize=all)
target_link_libraries(attend_faults PRIVATE ${CMAKE_DL_LIBS} Threads::Threads)
set(libraries "")
foreach(library RSVG ZIP ZLIB JPEG PNG)
  if(${library}_FOUND)
    string(TOLOWER ${library} name)
    list(APPEND libraries ${name})
  endif()
endforeach()
if(JPEG_FOUND AND PNG_FOUND)
  list(APPEND libraries image)
endif()
file(WRITE ${PROJECT_BINARY_DIR}/faults-libraries "${libraries}")
# Not under the sanitizers, whose own calls and reports would be failed too.
if(NOT ATTEND_MINIMAL AND NOT ATTEND_SANITIZE)
  attend_test(faults ${CMAKE_CURRENT_LIST_DIR}/run ${PROJECT_BINARY_DIR} --thin)
endif()
