# tilewright::isl -- the integer set library, with its C++ interface <isl/isl-noexceptions.h>.
#
# The default is the isl that LLVM's Polly carries: a position-independent static library without
# GMP, quicker than the distribution's, and its symbols stay inside our module. The other choice,
# 'system', is the distribution's shared libisl. Both can be installed at once, and so can LLVM's
# shared library, which exports an isl as well; so the version that a program really linked is read
# here, and given to the code as TILEWRIGHT_ISL_EXPECTED_VERSION. isl_version() must start with it (it
# ends in a newline besides).

if(TILEWRIGHT_ISL STREQUAL "polly")
  find_library(TILEWRIGHT_POLLY_ISL NAMES libPollyISL.a
               PATHS "${TILEWRIGHT_LLVM_LIBDIR}" NO_DEFAULT_PATH)
  set(isl_include "${TILEWRIGHT_LLVM_INCLUDE}/polly")
  if(NOT TILEWRIGHT_POLLY_ISL OR NOT EXISTS "${isl_include}/isl/isl-noexceptions.h")
    message(FATAL_ERROR "Polly's isl was not found: install libpolly-19-dev, "
                        "or configure with -DTILEWRIGHT_ISL=system")
  endif()
  set(isl_library "${TILEWRIGHT_POLLY_ISL}")
elseif(TILEWRIGHT_ISL STREQUAL "system")
  find_library(TILEWRIGHT_SYSTEM_ISL NAMES isl REQUIRED)
  find_path(TILEWRIGHT_SYSTEM_ISL_INCLUDE isl/ctx.h REQUIRED)
  set(isl_library "${TILEWRIGHT_SYSTEM_ISL}")
  set(isl_include "${TILEWRIGHT_SYSTEM_ISL_INCLUDE}")
  # Distributions leave the C++ interface out. It is one header over the C interface, so Polly's is
  # laid over the system's headers; whether the two fit is found out by the program below.
  if(NOT EXISTS "${isl_include}/isl/isl-noexceptions.h")
    set(isl_include "${CMAKE_BINARY_DIR}/isl-include")
    file(MAKE_DIRECTORY "${isl_include}/isl")
    file(COPY "${TILEWRIGHT_LLVM_INCLUDE}/polly/isl/isl-noexceptions.h"
         DESTINATION "${isl_include}/isl")
  endif()
else()
  message(FATAL_ERROR "TILEWRIGHT_ISL must be 'polly' or 'system', not '${TILEWRIGHT_ISL}'")
endif()

add_library(tilewright_isl INTERFACE)
add_library(tilewright::isl ALIAS tilewright_isl)
# A build without warnings about third-party headers needs -isystem, except for a folder that the
# compiler searches anyway.
if(NOT isl_include STREQUAL "/usr/include")
  target_include_directories(tilewright_isl SYSTEM BEFORE INTERFACE "${isl_include}")
endif()
target_link_libraries(tilewright_isl INTERFACE "${isl_library}")
if(TILEWRIGHT_ISL STREQUAL "polly")
  # polyhedral/isl_work.cpp, isl_coalescing.cpp and isl_lock_check.cpp stand between isl and these. A
  # shared isl calls its own.
  target_compile_definitions(tilewright_isl INTERFACE TILEWRIGHT_ISL_WRAPPED)
  foreach(wrapped mp_int_gcd mp_int_mul mp_int_div isl_malloc_or_die isl_calloc_or_die
                  isl_tab_is_constant)
    target_link_options(tilewright_isl INTERFACE "LINKER:--wrap=${wrapped}")
  endforeach()
  foreach(type set map basic_set basic_map aff pw_aff multi_aff pw_multi_aff multi_pw_aff
               space local_space val multi_val point id constraint union_set union_map ast_expr
               ast_node ast_build mat schedule schedule_node schedule_constraints)
    target_link_options(tilewright_isl INTERFACE "LINKER:--wrap=isl_${type}_copy"
                        "LINKER:--wrap=isl_${type}_free")
  endforeach()
endif()

set(isl_probe "${CMAKE_BINARY_DIR}/isl-version.cpp")
set(isl_joins_wrongly 3) # what the program ends with
file(CONFIGURE OUTPUT "${isl_probe}" CONTENT "#include <cstdio>
#include <isl/isl-noexceptions.h>
#include <isl/version.h>
int main() {
  std::fputs(isl_version(), stdout);
  isl_ctx *context = isl_ctx_alloc();
  const char *text = \"{ [i] : 0 <= i <= 10 and i mod 2 = 0; [i] : 0 <= i <= 1 }\";
  isl_set *set = isl_set_read_from_str(context, text);
  isl_set *joined = isl_set_coalesce(isl_set_copy(set));
  const bool is_right = isl_set_is_equal(set, joined) == isl_bool_true;
  isl_set_free(set);
  isl_set_free(joined);
  isl_ctx_free(context);
  return is_right ? 0 : ${isl_joins_wrongly};
}
")
if(NOT TILEWRIGHT_ISL_PROBED STREQUAL "${isl_library}")
  try_run(isl_ran isl_compiled "${CMAKE_BINARY_DIR}/isl-version" "${isl_probe}"
          CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${isl_include}"
          LINK_LIBRARIES "${isl_library}"
          CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON
          COMPILE_OUTPUT_VARIABLE isl_compile_output
          RUN_OUTPUT_VARIABLE isl_probed_version)
  if(isl_ran EQUAL isl_joins_wrongly AND TILEWRIGHT_ISL STREQUAL "system")
    unset(isl_ran CACHE)
    message(FATAL_ERROR "${isl_library} joins sets wrongly (see cpp/polyhedral/isl_coalescing.cpp): "
                        "install isl 0.27, or configure with -DTILEWRIGHT_ISL=polly")
  endif()
  # Of Polly's, the linker puts that right.
  if(NOT isl_compiled OR NOT (isl_ran EQUAL 0 OR isl_ran EQUAL isl_joins_wrongly))
    unset(isl_ran CACHE)
    unset(isl_compiled CACHE)
    message(FATAL_ERROR "A small isl program does not build or run:\n${isl_compile_output}")
  endif()
  string(STRIP "${isl_probed_version}" isl_probed_version)
  set(TILEWRIGHT_ISL_VERSION "${isl_probed_version}" CACHE INTERNAL "isl_version() as linked")
  set(TILEWRIGHT_ISL_PROBED "${isl_library}" CACHE INTERNAL "The isl that was asked for it")
  unset(isl_ran CACHE)
  unset(isl_compiled CACHE)
endif()
target_compile_definitions(tilewright_isl INTERFACE
                           "TILEWRIGHT_ISL_EXPECTED_VERSION=\"${TILEWRIGHT_ISL_VERSION}\"")
message(STATUS "tilewright: isl ${TILEWRIGHT_ISL_VERSION} (${TILEWRIGHT_ISL}), ${isl_library}")
