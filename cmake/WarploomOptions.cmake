# The tool, the tests and the benchmarks use all modules: by default they are built where all of these are.
set(by_default OFF)
if(PROJECT_IS_TOP_LEVEL AND WARPLOOM_BUILT_MODULES STREQUAL WARPLOOM_ALL_MODULES)
  set(by_default ON)
endif()
option(WARPLOOM_TOOLS "Build the command line tool" ${by_default})
option(WARPLOOM_TESTS "Build the tests (they need the tool)" ${by_default})
option(WARPLOOM_BENCH "Build the benchmarks" ${by_default})
set(WARPLOOM_PYTHON OFF CACHE STRING "Build the Python package: AUTO (where nanobind is), ON or OFF")
set_property(CACHE WARPLOOM_PYTHON PROPERTY STRINGS AUTO ON OFF)
option(WARPLOOM_INSTALL "Install what is built, and make packages of it" ${PROJECT_IS_TOP_LEVEL})
option(WARPLOOM_FUZZ "Build the fuzz targets with libFuzzer instead of a driver that replays the seeds; needs clang" OFF)
option(WARPLOOM_UNITY "Compile several sources of a module or a test at once; clang-tidy and editors want it OFF" ON)
option(WARPLOOM_NATIVE "Compile what computes in vectors once, for the processor at hand, not for each instruction set" OFF)
option(WARPLOOM_WERROR "Treat warnings as errors" OFF)
option(WARPLOOM_STATIC "Let executables need no shared library but libc, so that they run on another machine" OFF)
option(WARPLOOM_WRAP "Compile our own CUDA kernels through `warploom wrap`" ON)
set(WARPLOOM_SANITIZE "" CACHE STRING "Sanitizers to build with, as in -fsanitize=, e.g. address,undefined")
set(WARPLOOM_CHECK_ARCHITECTURES "75-virtual;80" CACHE STRING "What the target warploom_architectures compiles our CUDA code for")
set(by_default OFF)  # a project that adds ours asks for CUDA itself
if(PROJECT_IS_TOP_LEVEL)
  set(by_default AUTO)
endif()
set(WARPLOOM_CUDA ${by_default} CACHE STRING "Use the CUDA toolkit: AUTO, ON or OFF")
set_property(CACHE WARPLOOM_CUDA PROPERTY STRINGS AUTO ON OFF)

foreach(part TOOLS TESTS BENCH)
  if(WARPLOOM_${part} AND NOT WARPLOOM_BUILT_MODULES STREQUAL WARPLOOM_ALL_MODULES)
    set(missing ${WARPLOOM_ALL_MODULES})
    list(REMOVE_ITEM missing ${WARPLOOM_BUILT_MODULES})
    list(JOIN missing ", " missing)
    message(FATAL_ERROR "WARPLOOM_${part}=ON needs all modules, and WARPLOOM_MODULES=\"${WARPLOOM_MODULES}\" is without "
                        "${missing}: configure with -DWARPLOOM_MODULES=all or with -DWARPLOOM_${part}=OFF")
  endif()
endforeach()

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT DEFINED CMAKE_POSITION_INDEPENDENT_CODE)
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)  # so that a user's shared library can link the modules
endif()

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  find_program(WARPLOOM_CCACHE ccache)
  foreach(language CXX CUDA)
    if(WARPLOOM_CCACHE AND NOT DEFINED CMAKE_${language}_COMPILER_LAUNCHER)
      set(CMAKE_${language}_COMPILER_LAUNCHER ${WARPLOOM_CCACHE})
    endif()
  endforeach()
endif()

# CUDA. WARPLOOM_HAVE_CUDA says the outcome; AUTO goes on without a toolkit, ON insists.
set(WARPLOOM_HAVE_CUDA OFF)
if(WARPLOOM_CUDA)
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(WARPLOOM_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
    if(WARPLOOM_NVCC)
      set(ENV{CUDACXX} "${WARPLOOM_NVCC}")
    endif()
  endif()
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    # For the GPU at hand; without one for an H100 or H200 and, as PTX that the driver compiles, for all from Turing on.
    # Packages name theirs (the preset `gpu`).
    if(EXISTS /dev/nvidiactl)
      set(CMAKE_CUDA_ARCHITECTURES native)
    else()
      set(CMAKE_CUDA_ARCHITECTURES 75-virtual 90-real)
    endif()
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    find_package(CUDAToolkit REQUIRED)
    set(WARPLOOM_HAVE_CUDA ON)
    # What our code is built for, by number: 75-virtual 90-real, also where it is to be `native` or `all`.
    set(WARPLOOM_ARCHITECTURES)
    foreach(architecture IN LISTS CMAKE_CUDA_ARCHITECTURES)
      string(TOUPPER "CMAKE_CUDA_ARCHITECTURES_${architecture}" meant)
      string(REPLACE "-" "_" meant ${meant})
      if(${meant})
        list(APPEND WARPLOOM_ARCHITECTURES ${${meant}})
      else()
        list(APPEND WARPLOOM_ARCHITECTURES ${architecture})
      endif()
    endforeach()
    # C++20 by its option, since CMake 3.25 does not know that nvcc has it; extensions, or it would add -std=c++17.
    string(APPEND CMAKE_CUDA_FLAGS " -std=c++20")
    set(CMAKE_CUDA_EXTENSIONS ON)
  elseif(NOT WARPLOOM_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "WARPLOOM_CUDA=${WARPLOOM_CUDA}, but no CUDA compiler works here: put nvcc into PATH, "
                        "set CUDACXX, or configure with -DWARPLOOM_CUDA=AUTO")
  endif()
endif()
list(JOIN WARPLOOM_BUILT_MODULES ", " built)
message(STATUS "Warploom: ${built}; CUDA ${WARPLOOM_HAVE_CUDA} ${CMAKE_CUDA_ARCHITECTURES} (WARPLOOM_CUDA=${WARPLOOM_CUDA}, may be AUTO, ON or OFF)")

# Packages of the modules. Where executables may need no shared library, the static ones are taken.
set(suffixes ${CMAKE_FIND_LIBRARY_SUFFIXES})
if(WARPLOOM_STATIC)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
endif()
foreach(module IN LISTS WARPLOOM_BUILT_MODULES)
  foreach(package IN LISTS WARPLOOM_${module}_PACKAGES)
    find_package(${package} REQUIRED)
  endforeach()
endforeach()
set(CMAKE_FIND_LIBRARY_SUFFIXES ${suffixes})
if(json IN_LIST WARPLOOM_BUILT_MODULES)
  find_package(nlohmann_json REQUIRED)
endif()
if(WARPLOOM_TOOLS)
  find_package(CLI11 REQUIRED)
endif()
if(WARPLOOM_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()
if(WARPLOOM_BENCH)
  find_package(benchmark REQUIRED)
endif()

# Warnings, for our own targets only; nvcc hands the host's to the host compiler.
set(warnings -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wconversion -Wno-sign-conversion)
if(WARPLOOM_UNITY)
  # A local variable may be called as something of another source of its unit is.
  list(REMOVE_ITEM warnings -Wshadow)
  list(APPEND warnings $<$<CXX_COMPILER_ID:GNU>:-Wshadow=local> $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  list(APPEND warnings -Wno-dangling-reference)  # takes a reference for one into a temporary argument
  list(APPEND warnings -Wno-array-bounds -Wno-stringop-overflow)  # take copies of short strings and vectors for overruns
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13 AND CMAKE_CXX_FLAGS_RELEASE MATCHES -O3)
  list(APPEND warnings -Wno-restrict)  # takes "a" + text for a copy onto itself
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  list(APPEND warnings -Wno-pass-failed)  # a loop that it does not vectorise is slower, not wrong
endif()
add_library(warploom_warnings INTERFACE)
target_compile_options(warploom_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:${warnings} -Wpedantic>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${WARPLOOM_WERROR}>>:-Werror>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>
  $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${WARPLOOM_WERROR}>>:-Werror=all-warnings>)

# Our copy of fmt, compiled in `core`; for sources alone, no public header includes it.
add_library(warploom_fmt INTERFACE)
target_include_directories(warploom_fmt SYSTEM INTERFACE ${PROJECT_SOURCE_DIR}/third_party/fmt)

if(WARPLOOM_SANITIZE)
  # Unoptimised, checked code is about five times slower than with -O1 (dp's oracle, GCC 12), and tests of minutes of it.
  # -O1 keeps all checks but those of accesses whose result nobody uses; Debug still has its asserts.
  set(sanitize -fsanitize=${WARPLOOM_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer $<$<CONFIG:Debug>:-O1>)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${sanitize}>")
  add_link_options("$<$<LINK_LANGUAGE:CXX>:${sanitize}>")
endif()
if(WARPLOOM_FUZZ)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsanitize=fuzzer-no-link>)
endif()
if(WARPLOOM_STATIC)
  # libc itself stays shared: the NVIDIA driver's library is opened at run time, which a static libc cannot do.
  add_link_options($<HOST_LINK:-static-libstdc++> $<HOST_LINK:-static-libgcc>)
endif()
