# One MPI plugin for each MPI that is installed: their binary interfaces differ. The names of the compilers
# are Debian's; where only one `mpicc` is there, it says what it belongs to.
option(ATTEND_MPI "build the plugins for training over MPI where an mpicc is installed" ON)
find_program(ATTEND_MPICC_OPENMPI NAMES mpicc.openmpi)
find_program(ATTEND_MPICC_MPICH NAMES mpicc.mpich)

function(attend_mpi_plugin name mpicc)
  execute_process(COMMAND ${mpicc} -show OUTPUT_VARIABLE line RESULT_VARIABLE failed
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(failed)
    message(STATUS "Building without ${name}: ${mpicc} -show fails")
    return()
  endif()
  separate_arguments(words UNIX_COMMAND "${line}")
  list(POP_FRONT words)
  set(compile ${words})
  list(FILTER compile INCLUDE REGEX "^-[ID]")
  list(TRANSFORM compile REPLACE "^-I" "-isystem")
  set(link ${words})
  list(FILTER link INCLUDE REGEX "^-[Ll]|^-Wl,")
  add_library(attend_mpi_${name} MODULE plugins/mpi.c)
  target_include_directories(attend_mpi_${name} PRIVATE include)
  target_compile_options(attend_mpi_${name} PRIVATE ${compile})
  target_link_libraries(attend_mpi_${name} PRIVATE ${link})
  set_target_properties(attend_mpi_${name} PROPERTIES PREFIX "" OUTPUT_NAME attend-mpi-${name}
    C_VISIBILITY_PRESET hidden)
  install(TARGETS attend_mpi_${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/attend
    COMPONENT ${name})
endfunction()

if(ATTEND_MPI AND NOT ATTEND_MINIMAL)
  foreach(name openmpi mpich)
    string(TOUPPER ${name} upper)
    if(ATTEND_MPICC_${upper})
      attend_mpi_plugin(${name} ${ATTEND_MPICC_${upper}})
    endif()
  endforeach()
endif()
