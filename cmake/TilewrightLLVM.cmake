# tilewright::llvm -- LLVM 19, linked statically and asked for through llvm-config, with the
# components that the JIT needs: ORC, the X86 and NVPTX back ends, the pass pipelines, the readers.

find_program(TILEWRIGHT_LLVM_CONFIG NAMES llvm-config-19 llvm-config
             DOC "llvm-config of LLVM 19")
if(NOT TILEWRIGHT_LLVM_CONFIG)
  message(FATAL_ERROR "llvm-config-19 was not found. Install the packages in "
                      "scripts/system-packages.txt, or set TILEWRIGHT_LLVM_CONFIG.")
endif()

function(llvm_config out)
  execute_process(COMMAND "${TILEWRIGHT_LLVM_CONFIG}" ${ARGN}
                  OUTPUT_VARIABLE answer OUTPUT_STRIP_TRAILING_WHITESPACE
                  COMMAND_ERROR_IS_FATAL ANY)
  set(${out} "${answer}" PARENT_SCOPE)
endfunction()

llvm_config(TILEWRIGHT_LLVM_VERSION --version)
if(NOT TILEWRIGHT_LLVM_VERSION MATCHES "^19\\.")
  message(FATAL_ERROR "LLVM 19 is needed; ${TILEWRIGHT_LLVM_CONFIG} is ${TILEWRIGHT_LLVM_VERSION}")
endif()
llvm_config(llvm_rtti --has-rtti)
if(NOT llvm_rtti STREQUAL "YES")
  message(FATAL_ERROR "LLVM must be built with RTTI; ${TILEWRIGHT_LLVM_CONFIG} is not")
endif()
llvm_config(TILEWRIGHT_LLVM_INCLUDE --includedir)
llvm_config(TILEWRIGHT_LLVM_LIBDIR --libdir)
llvm_config(llvm_libraries --link-static --libfiles
            orcjit x86 nvptx passes irreader bitreader linker)
separate_arguments(llvm_libraries UNIX_COMMAND "${llvm_libraries}")

# llvm-config names every system library that some part of LLVM may use (z3, libxml2). We pull in
# nothing that needs those two, so they are left out, and none is a dependency of the extension.
llvm_config(llvm_system --link-static --system-libs)
separate_arguments(llvm_system UNIX_COMMAND "${llvm_system}")
list(FILTER llvm_system EXCLUDE REGEX "z3|xml2|tinfo|edit|ffi")
# Compression is linked statically where its archives are installed: a wheel has nothing to vendor.
foreach(library z zstd)
  find_library(TILEWRIGHT_STATIC_${library} NAMES lib${library}.a)
  if(TILEWRIGHT_STATIC_${library})
    list(TRANSFORM llvm_system REPLACE "^-l${library}$" "${TILEWRIGHT_STATIC_${library}}")
  endif()
endforeach()

add_library(tilewright_llvm INTERFACE)
add_library(tilewright::llvm ALIAS tilewright_llvm)
target_include_directories(tilewright_llvm SYSTEM INTERFACE "${TILEWRIGHT_LLVM_INCLUDE}")
target_compile_definitions(tilewright_llvm INTERFACE _GNU_SOURCE __STDC_CONSTANT_MACROS
                           __STDC_FORMAT_MACROS __STDC_LIMIT_MACROS)
target_link_libraries(tilewright_llvm INTERFACE ${llvm_libraries} ${llvm_system})
message(STATUS "tilewright: LLVM ${TILEWRIGHT_LLVM_VERSION}, static, "
               "from ${TILEWRIGHT_LLVM_LIBDIR}")
