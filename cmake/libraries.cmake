# The libraries that libattend and the program can use, each optional.
#
#   ATTEND_LIBRARIES   what libattend links
#   ATTEND_FEATURES    the definitions that tell its sources what is there
#   ATTEND_MODULES     their names for pkg-config, for attend-config.cmake
#   ATTEND_PC_LIBS     what a static link needs, for attend.pc: the libraries themselves and not, as
#                      Requires.private would give, what they in turn were linked with
#   RSVG_FOUND         the program can turn SVG into PNG and PDF
set(ATTEND_LIBRARIES m ${CMAKE_DL_LIBS})
set(ATTEND_FEATURES)
set(ATTEND_MODULES)
set(ATTEND_PC_LIBS -lm)
foreach(library ${CMAKE_DL_LIBS}) # plugins of transports
  list(APPEND ATTEND_PC_LIBS -l${library})
endforeach()
# gcc for riscv64 has the atomic operations on single bytes in a library.
include(CheckCSourceCompiles)
check_c_source_compiles("#include <stdatomic.h>
#include <stdbool.h>
static atomic_bool flag; int main(void) { return atomic_exchange(&flag, true); }" ATTEND_BYTE_ATOMICS)
if(NOT ATTEND_BYTE_ATOMICS)
  list(APPEND ATTEND_LIBRARIES atomic)
  list(APPEND ATTEND_PC_LIBS -latomic)
endif()
set(ATTEND_WITHOUT)

# Adds pkg-config module `module` to libattend as ATT_HAVE_<feature>, if it is installed.
macro(attend_use feature module what)
  if(PKG_CONFIG_FOUND AND NOT ATTEND_MINIMAL)
    pkg_check_modules(${feature} QUIET IMPORTED_TARGET ${module})
  endif()
  if(${feature}_FOUND)
    list(APPEND ATTEND_LIBRARIES PkgConfig::${feature})
    list(APPEND ATTEND_FEATURES ATT_HAVE_${feature})
    list(APPEND ATTEND_MODULES ${module})
    list(TRANSFORM ${feature}_LIBRARIES PREPEND -l OUTPUT_VARIABLE as_flags)
    list(APPEND ATTEND_PC_LIBS ${as_flags})
  else()
    list(APPEND ATTEND_WITHOUT "${module} (${what})")
  endif()
endmacro()

if(NOT ATTEND_MINIMAL)
  find_package(PkgConfig QUIET)
endif()
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
list(APPEND ATTEND_LIBRARIES Threads::Threads)
list(APPEND ATTEND_PC_LIBS -pthread)
attend_use(ZIP libzip ".npz files")
attend_use(JPEG libjpeg "JPEG photographs")
attend_use(PNG libpng "PNG photographs")
attend_use(ZLIB zlib "gzip corpora")
attend_use(ZSTD libzstd "zstd corpora")

if(PKG_CONFIG_FOUND AND NOT ATTEND_MINIMAL)
  pkg_check_modules(RSVG QUIET IMPORTED_TARGET librsvg-2.0 cairo cairo-pdf)
endif()
if(NOT RSVG_FOUND)
  list(APPEND ATTEND_WITHOUT "librsvg (PNG and PDF images)")
endif()

if(ATTEND_WITHOUT)
  list(JOIN ATTEND_WITHOUT ", " without)
  message(STATUS "Building without ${without}")
endif()
