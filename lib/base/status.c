/* status - names and texts of status values, version, licence of the build. */
#include "base/base.h"

const char *vin_status_name(vin_status status) {
  switch ((int)status) {
#define STATUS_NAME(name, value, text)                                                             \
  case value:                                                                                      \
    return #name;
    VIN_STATUS_TABLE(STATUS_NAME)
#undef STATUS_NAME
  default:
    return "VIN_STATUS_UNKNOWN";
  }
}

const char *vin_status_text(vin_status status) {
  switch ((int)status) {
#define STATUS_TEXT(name, value, text)                                                             \
  case value:                                                                                      \
    return text;
    VIN_STATUS_TABLE(STATUS_TEXT)
#undef STATUS_TEXT
  default:
    return "not a status of this library";
  }
}

#define STRING_OF(x) #x
#define STRING(x) STRING_OF(x)

const char *vin_version(void) {
  return STRING(VIN_VERSION_MAJOR) "." STRING(VIN_VERSION_MINOR) "." STRING(VIN_VERSION_PATCH);
}

/* The build defines these as 1 for the backends it links. */
#if defined(VINI_HAVE_UMFPACK) && VINI_HAVE_UMFPACK
#define WITH_UMFPACK "; with UMFPACK (GPL-2.0-or-later)"
#define BOUND_BY_GPL 1
#else
#define WITH_UMFPACK ""
#endif

#if defined(VINI_HAVE_CHOLMOD) && VINI_HAVE_CHOLMOD
#define WITH_CHOLMOD "; with CHOLMOD (LGPL-2.1-or-later, its Supernodal module GPL-2.0-or-later)"
#define BOUND_BY_GPL 1
#else
#define WITH_CHOLMOD ""
#endif

#if defined(VINI_HAVE_KLU) && VINI_HAVE_KLU
#define WITH_KLU "; with KLU (LGPL-2.1-or-later)"
#else
#define WITH_KLU ""
#endif
#if defined(VINI_HAVE_SPQR) && VINI_HAVE_SPQR
#define WITH_SPQR "; with SuiteSparseQR (GPL-2.0-or-later)"
#define BOUND_BY_GPL 1
#else
#define WITH_SPQR ""
#endif

#if defined(VINI_HAVE_METIS) && VINI_HAVE_METIS
#define WITH_METIS "; with METIS (Apache-2.0)"
#define BOUND_BY_APACHE 1
#else
#define WITH_METIS ""
#endif

/* Apache-2.0 is compatible with version 3 of the GPL only, hence the later version with METIS. */
#if defined(BOUND_BY_GPL) && defined(BOUND_BY_APACHE)
#define AS_A_WHOLE "; the binary as a whole: GPL-3.0-or-later"
#elif defined(BOUND_BY_GPL)
#define AS_A_WHOLE "; the binary as a whole: GPL-2.0-or-later"
#else
#define AS_A_WHOLE ""
#endif

const char *vin_build_licence(void) {
  return "BSD-3-Clause" WITH_UMFPACK WITH_KLU WITH_CHOLMOD WITH_SPQR WITH_METIS AS_A_WHOLE;
}
