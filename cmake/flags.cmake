# Compiler flags for everything we compile.
#
# -ffp-contract=off: a result must not depend on which multiplications the compiler chose to fuse.
# -ffile-prefix-map: the same source gives the same bytes wherever it was unpacked.
# _FILE_OFFSET_BITS: on 32-bit systems, files above 2 GB and folders whose entries have 64-bit offsets.
# -g1: lines for backtraces and profiles; a debugger wants CMAKE_BUILD_TYPE=Debug, and gets it all.
add_compile_options(-Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
  -Wvla -ffp-contract=off -ffile-prefix-map=${CMAKE_BINARY_DIR}=build -ffile-prefix-map=${CMAKE_SOURCE_DIR}=.
  $<IF:$<CONFIG:Debug>,-g,-g1>)
if(CMAKE_SIZEOF_VOID_P EQUAL 4)
  add_compile_definitions(_FILE_OFFSET_BITS=64)
endif()

if(ATTEND_WERROR)
  add_compile_options(-Werror)
endif()

# -UNDEBUG: asserts are for programmers' mistakes, and these are the builds that look for them.
if(ATTEND_SANITIZE AND ATTEND_TSAN)
  message(FATAL_ERROR "ATTEND_SANITIZE and ATTEND_TSAN cannot be combined")
endif()
if(ATTEND_TSAN)
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer -O1 -UNDEBUG)
  add_link_options(-fsanitize=thread)
endif()
if(ATTEND_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all
    -fno-omit-frame-pointer -O1 -UNDEBUG)
  add_link_options(-fsanitize=address,undefined)
endif()
