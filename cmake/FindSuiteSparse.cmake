# FindSuiteSparse: components SuiteSparse_config, AMD, CHOLMOD, UMFPACK, KLU, SPQR.
#
# Defines SuiteSparse_FOUND, SuiteSparse_<component>_FOUND and, for each component found, the target
# that SuiteSparse 7 defines itself: SuiteSparse::SuiteSparseConfig, ::AMD, ::CHOLMOD, ::UMFPACK, ::KLU,
# ::SPQR.
# SuiteSparse 7 installs a CMake package per component, which is preferred. Older ones (5.x) have none:
# there the shared libraries are looked up by name. Static libraries of 5.x are not covered, because
# they do not tell what they were built with (BLAS, METIS, OpenMP).
# SuiteSparse_ROOT (variable or environment) names a place to look in first.

# Creates the target of one component; name: of the library, header: a file that comes with it.
macro(suitesparse_component component target name header)
  set(SuiteSparse_${component}_FOUND FALSE)
  if(NOT TARGET ${target})
    find_package(${component} CONFIG QUIET HINTS ${SuiteSparse_ROOT} $ENV{SuiteSparse_ROOT})
    mark_as_advanced(${component}_DIR)
    if(NOT TARGET ${target} AND TARGET ${target}_static) # SuiteSparse 7 without shared libraries
      add_library(${target} INTERFACE IMPORTED)
      set_property(TARGET ${target} PROPERTY INTERFACE_LINK_LIBRARIES ${target}_static)
    endif()
  endif()
  if(NOT TARGET ${target})
    find_path(SuiteSparse_${component}_INCLUDE_DIR ${header} PATH_SUFFIXES suitesparse)
    find_library(SuiteSparse_${component}_LIBRARY ${name})
    mark_as_advanced(SuiteSparse_${component}_INCLUDE_DIR SuiteSparse_${component}_LIBRARY)
    if(SuiteSparse_${component}_INCLUDE_DIR AND SuiteSparse_${component}_LIBRARY)
      add_library(${target} UNKNOWN IMPORTED)
      set_target_properties(${target} PROPERTIES
        IMPORTED_LOCATION "${SuiteSparse_${component}_LIBRARY}"
        INTERFACE_INCLUDE_DIRECTORIES "${SuiteSparse_${component}_INCLUDE_DIR}")
    endif()
  endif()
  if(TARGET ${target})
    set(SuiteSparse_${component}_FOUND TRUE)
    list(APPEND SuiteSparse_TARGETS ${target})
  endif()
endmacro()

set(SuiteSparse_TARGETS "")
if(NOT SuiteSparse_FIND_COMPONENTS)
  set(SuiteSparse_FIND_COMPONENTS SuiteSparse_config AMD CHOLMOD UMFPACK KLU SPQR)
endif()
foreach(component IN LISTS SuiteSparse_FIND_COMPONENTS)
  if(component STREQUAL "SuiteSparse_config")
    suitesparse_component(SuiteSparse_config SuiteSparse::SuiteSparseConfig suitesparseconfig
                          SuiteSparse_config.h)
  elseif(component STREQUAL "AMD")
    suitesparse_component(AMD SuiteSparse::AMD amd amd.h)
  elseif(component STREQUAL "CHOLMOD")
    suitesparse_component(CHOLMOD SuiteSparse::CHOLMOD cholmod cholmod.h)
  elseif(component STREQUAL "UMFPACK")
    suitesparse_component(UMFPACK SuiteSparse::UMFPACK umfpack umfpack.h)
  elseif(component STREQUAL "KLU")
    suitesparse_component(KLU SuiteSparse::KLU klu klu.h)
  elseif(component STREQUAL "SPQR")
    suitesparse_component(SPQR SuiteSparse::SPQR spqr SuiteSparseQR_C.h)
    set(suitesparse_links "")
    if(TARGET SuiteSparse::SPQR)
      get_target_property(suitesparse_links SuiteSparse::SPQR INTERFACE_LINK_LIBRARIES)
    endif()
    if("${suitesparse_links}" STREQUAL "SuiteSparse::SPQR_static") # C++ inside, as in no other
      set_property(TARGET SuiteSparse::SPQR APPEND PROPERTY INTERFACE_LINK_LIBRARIES
                   $<IF:$<PLATFORM_ID:Darwin>,c++,stdc++>)
    endif()
  else()
    set(SuiteSparse_${component}_FOUND FALSE)
  endif()
endforeach()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(SuiteSparse REQUIRED_VARS SuiteSparse_TARGETS HANDLE_COMPONENTS)
