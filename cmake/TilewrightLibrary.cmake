# How our own code is compiled, and the two functions that make a library or a test of a folder.

add_library(tilewright_flags INTERFACE)
target_include_directories(tilewright_flags INTERFACE "${CMAKE_SOURCE_DIR}/cpp")
target_compile_options(tilewright_flags INTERFACE
  -Wall -Wextra -ffunction-sections -fdata-sections
  "-fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=")
if(TILEWRIGHT_WERROR)
  target_compile_options(tilewright_flags INTERFACE -Werror)
endif()
target_link_options(tilewright_flags INTERFACE
  ${TILEWRIGHT_LINKER_FLAGS} -Wl,--gc-sections -Wl,--as-needed)
if(TILEWRIGHT_SANITIZE)
  target_compile_options(tilewright_flags INTERFACE
    "-fsanitize=${TILEWRIGHT_SANITIZE}" -fno-omit-frame-pointer -g1)
  target_link_options(tilewright_flags INTERFACE "-fsanitize=${TILEWRIGHT_SANITIZE}")
endif()

# tilewright_add_library(FOLDER USES...) makes the static library tw_FOLDER of the *.cpp in
# cpp/FOLDER and the folders in it, which may use the libraries named after it. A folder without sources yet is an interface.
function(tilewright_add_library folder)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp")
  if(sources)
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
  add_executable(tw_test_${folder} ${sources})
  target_include_directories(tw_test_${folder} PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}")
  target_link_libraries(tw_test_${folder} PRIVATE tw_${folder} GTest::gmock GTest::gtest_main)
  gtest_discover_tests(tw_test_${folder} DISCOVERY_MODE PRE_TEST TEST_PREFIX "${folder}."
                       WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}" PROPERTIES TIMEOUT 300)
endfunction()
