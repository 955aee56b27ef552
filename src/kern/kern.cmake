# The kernels: one object library per instruction set, all from the list in kern.h.
# The plain set is scalar/*.c; every vector set is vec/*.c over its own vec_<set>.h.
# An instruction set is added by one line at the end here, one header, and one row in kern.c.

set(kern_dir ${CMAKE_CURRENT_SOURCE_DIR}/src/kern)
file(GLOB kern_scalar_sources CONFIGURE_DEPENDS ${kern_dir}/scalar/*.c)
file(GLOB kern_vec_sources CONFIGURE_DEPENDS ${kern_dir}/vec/*.c)

function(attend_kernel_set set)
  set(library attend_kern_${set})
  add_library(${library} OBJECT ${ARGN} ${kern_dir}/isa/table.c)
  target_include_directories(${library} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/src
    ${CMAKE_CURRENT_SOURCE_DIR}/include)
  target_compile_definitions(${library} PRIVATE ATT_ISA=${set}
    ATT_VEC_HEADER="kern/vec/vec_${set}.h")
  set_target_properties(${library} PROPERTIES POSITION_INDEPENDENT_CODE ON
    C_VISIBILITY_PRESET hidden)
  set(ATTEND_KERN_OBJECTS ${ATTEND_KERN_OBJECTS} $<TARGET_OBJECTS:${library}> PARENT_SCOPE)
endfunction()

function(attend_vector_set set)
  attend_kernel_set(${set} ${kern_vec_sources})
  target_compile_options(attend_kern_${set} PRIVATE ${ARGN})
  set(ATTEND_KERN_OBJECTS ${ATTEND_KERN_OBJECTS} PARENT_SCOPE)
  string(TOUPPER ${set} upper)
  target_compile_definitions(attend_objects PRIVATE ATT_HAVE_${upper})
endfunction()

attend_kernel_set(scalar ${kern_scalar_sources})
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  attend_vector_set(avx2 -mavx2 -mfma)
  attend_vector_set(avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mprefer-vector-width=512)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64|ARM64)$")
  attend_vector_set(neon) # part of every aarch64 processor
endif()
include(src/kern/int8/int8.cmake)
