# FindMETIS: header and library of METIS 5. Defines METIS_FOUND and the target METIS::METIS.
# METIS_ROOT (variable or environment) names a place to look in first.

find_path(METIS_INCLUDE_DIR metis.h PATH_SUFFIXES metis)
find_library(METIS_LIBRARY metis)
# A METIS that was built from its repository keeps its utilities in a library of their own.
find_library(METIS_GKLIB_LIBRARY GKlib)
mark_as_advanced(METIS_INCLUDE_DIR METIS_LIBRARY METIS_GKLIB_LIBRARY)

set(METIS_VERSION "")
if(METIS_INCLUDE_DIR)
  file(STRINGS "${METIS_INCLUDE_DIR}/metis.h" metis_lines REGEX "#define METIS_VER_[A-Z]+[ \t]+[0-9]+")
  string(REGEX MATCHALL "[0-9]+" METIS_VERSION "${metis_lines}")
  list(JOIN METIS_VERSION "." METIS_VERSION)
  unset(metis_lines)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(METIS REQUIRED_VARS METIS_LIBRARY METIS_INCLUDE_DIR
                                  VERSION_VAR METIS_VERSION)

if(METIS_FOUND AND NOT TARGET METIS::METIS)
  add_library(METIS::METIS UNKNOWN IMPORTED)
  set_target_properties(METIS::METIS PROPERTIES
    IMPORTED_LOCATION "${METIS_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${METIS_INCLUDE_DIR}")
  if(METIS_GKLIB_LIBRARY)
    set_property(TARGET METIS::METIS PROPERTY INTERFACE_LINK_LIBRARIES "${METIS_GKLIB_LIBRARY}")
  endif()
endif()
