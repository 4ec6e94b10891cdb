# ccache as the compiler launcher, and a linker that is quick with LLVM's large static libraries.

if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(TILEWRIGHT_CCACHE ccache)
  if(TILEWRIGHT_CCACHE)
    # Paths below the checkout are hashed relative to it, so that every checkout and build folder
    # at the same depth shares the cache.
    set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
        "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}" CCACHE_NOHASHDIR=1 "${TILEWRIGHT_CCACHE}")
  endif()
endif()

find_program(TILEWRIGHT_LLD NAMES ld.lld-19 ld.lld)
find_program(TILEWRIGHT_MOLD NAMES mold)
include(CheckLinkerFlag)
if(TILEWRIGHT_LLD)
  # The compiler looks a linker up by its plain name, so it is told where that name is found.
  get_filename_component(lld_name "${TILEWRIGHT_LLD}" NAME)
  set(lld_folder "${CMAKE_BINARY_DIR}/linker")
  file(MAKE_DIRECTORY "${lld_folder}")
  file(CREATE_LINK "${TILEWRIGHT_LLD}" "${lld_folder}/ld.lld" SYMBOLIC)
  set(TILEWRIGHT_LINKER_FLAGS "-fuse-ld=lld" "-B${lld_folder}")
elseif(TILEWRIGHT_MOLD)
  set(TILEWRIGHT_LINKER_FLAGS "-fuse-ld=mold")
else()
  set(TILEWRIGHT_LINKER_FLAGS)
endif()
