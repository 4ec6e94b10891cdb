# How our own code is compiled, and the two functions that make a library or a test of a folder.

add_library(tilewright_flags INTERFACE)
target_include_directories(tilewright_flags INTERFACE "${CMAKE_SOURCE_DIR}/cpp")
target_compile_options(tilewright_flags INTERFACE
  -Wall -Wextra -ffunction-sections -fdata-sections
  "-fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=")
if(TILEWRIGHT_WERROR)
  # What may be uninitialised depends on what GCC inlines, and that on what a group is made of: it
  # stays a warning.
  target_compile_options(tilewright_flags INTERFACE -Werror -Wno-error=maybe-uninitialized)
endif()
target_link_options(tilewright_flags INTERFACE
  ${TILEWRIGHT_LINKER_FLAGS} -Wl,--gc-sections -Wl,--as-needed)
if(TILEWRIGHT_SANITIZE)
  target_compile_options(tilewright_flags INTERFACE
    "-fsanitize=${TILEWRIGHT_SANITIZE}" -fno-omit-frame-pointer -g1)
  target_link_options(tilewright_flags INTERFACE "-fsanitize=${TILEWRIGHT_SANITIZE}")
endif()

# tilewright_grouped(VARIABLE ROOT FOLDER) replaces the sources in VARIABLE, which are below ROOT, by
# sources that each include some of them (scripts/groups.py says which), if TILEWRIGHT_GROUPS is on.
# A source with definitions of its own stays as it is.
if(TILEWRIGHT_GROUPS)
  find_program(TILEWRIGHT_PYTHON NAMES python3 REQUIRED)
endif()
function(tilewright_grouped variable root folder)
  set(alone)
  set(together)
  foreach(source IN LISTS ${variable})
    get_source_file_property(definitions "${source}" COMPILE_DEFINITIONS)
    if(definitions OR NOT TILEWRIGHT_GROUPS)
      list(APPEND alone "${source}")
    else()
      list(APPEND together "${source}")
    endif()
  endforeach()
  if(together)
    execute_process(
      COMMAND "${TILEWRIGHT_PYTHON}" "${CMAKE_SOURCE_DIR}/scripts/groups.py" "${root}"
              "${CMAKE_BINARY_DIR}/groups/${folder}" ${together}
      OUTPUT_VARIABLE sources COMMAND_ERROR_IS_FATAL ANY)
    # Which files go together depends on the names in them, and in the headers that they include.
    file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/cpp/*.h" "${root}/*.h")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${together} ${headers})
    set(together ${sources})
  endif()
  set(${variable} ${alone} ${together} PARENT_SCOPE)
endfunction()

# tilewright_add_library(FOLDER USES...) makes the static library tw_FOLDER of the *.cpp in
# cpp/FOLDER and the folders in it, which may use the libraries named after it. A folder without sources yet is an interface.
function(tilewright_add_library folder)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp")
  if(sources)
    tilewright_grouped(sources "${CMAKE_CURRENT_SOURCE_DIR}" ${folder})
    add_library(tw_${folder} STATIC ${sources})
    target_link_libraries(tw_${folder} PUBLIC tilewright_flags ${ARGN})
  else()
    add_library(tw_${folder} INTERFACE)
    target_link_libraries(tw_${folder} INTERFACE tilewright_flags ${ARGN})
  endif()
endfunction()

# tilewright_add_test(FOLDER) makes the executable tw_test_FOLDER of tests/cpp/FOLDER/*.cpp.
# Only a folder's tests are linked again when it changes.
function(tilewright_add_test folder)
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp")
  if(NOT sources)
    return()
  endif()
  tilewright_grouped(sources "${CMAKE_CURRENT_SOURCE_DIR}" tests/${folder})
  add_executable(tw_test_${folder} ${sources})
  target_include_directories(tw_test_${folder} PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}")
  target_link_libraries(tw_test_${folder} PRIVATE tw_${folder} GTest::gmock GTest::gtest_main)
  gtest_discover_tests(tw_test_${folder} DISCOVERY_MODE PRE_TEST TEST_PREFIX "${folder}."
                       WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}" PROPERTIES TIMEOUT 300)
endfunction()
