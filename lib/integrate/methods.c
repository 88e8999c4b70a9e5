/* The table of methods, in the order of vin_method. */
#include "integrate/explicit.h"
#include "integrate/implicit.h"
#include "integrate/integrate.h"
#include "integrate/line_integral.h"

#define MASS VINI_METHOD_CONSTANT_MASS
#define INCREMENTS VINI_METHOD_INCREMENTS
#define ACCELERATION (VINI_METHOD_ACCELERATION | VINI_METHOD_BAUMGARTE)
#define ESTIMATE VINI_METHOD_ESTIMATE
#define PARTITION vini_partition_create, vini_partition_destroy, vini_partition_step
#define COMPOSITION vini_composition_create, vini_composition_destroy, vini_composition_step
#define LINE vini_line_create, vini_line_destroy, vini_line_step
#define REDUCED vini_reduced_create, vini_implicit_destroy, vini_reduced_step
#define INDEX3 vini_index3_create, vini_implicit_destroy, vini_index3_step
#define EXPLICIT vini_explicit_create, vini_explicit_destroy, vini_explicit_step

const vini_method vini_methods[] = {
    {VIN_METHOD_RATTLE, "rattle", MASS | INCREMENTS, NULL, NULL, vini_rattle_step},
    {VIN_METHOD_TAYLOR2, "taylor2", ACCELERATION, EXPLICIT},
    {VIN_METHOD_EULER, "euler", ACCELERATION, EXPLICIT},
    {VIN_METHOD_RK4, "rk4", ACCELERATION, EXPLICIT},
    {VIN_METHOD_SHAKE, "shake", MASS | INCREMENTS, vini_shake_create, vini_shake_destroy,
     vini_shake_step},
    {VIN_METHOD_RATTLE4, "rattle4", MASS | INCREMENTS, COMPOSITION},
    {VIN_METHOD_RATTLE6, "rattle6", MASS | INCREMENTS, COMPOSITION},
    {VIN_METHOD_HBVM, "hbvm", MASS, LINE},
    {VIN_METHOD_LIM, "lim", MASS, LINE},
    {VIN_METHOD_COLLATZ, "collatz", ACCELERATION, EXPLICIT},
    {VIN_METHOD_DOPRI5, "dopri5", ACCELERATION | ESTIMATE, EXPLICIT},
    {VIN_METHOD_BACKWARD_EULER, "backward-euler", VINI_METHOD_BAUMGARTE, REDUCED},
    {VIN_METHOD_MIDPOINT, "midpoint", VINI_METHOD_BAUMGARTE, REDUCED},
    {VIN_METHOD_TRAPEZOIDAL, "crank-nicolson", VINI_METHOD_BAUMGARTE, REDUCED},
    {VIN_METHOD_BDF2, "bdf2", VINI_METHOD_BAUMGARTE, REDUCED},
    {VIN_METHOD_RADAU5, "radau5", VINI_METHOD_BAUMGARTE | ESTIMATE, vini_radau_create,
     vini_implicit_destroy, vini_radau_step},
    {VIN_METHOD_EULER3, "index3-euler", 0, INDEX3},
    {VIN_METHOD_GGL, "ggl", 0, vini_ggl_create, vini_implicit_destroy, vini_ggl_step},
    {VIN_METHOD_GENERALIZED_ALPHA, "generalized-alpha", 0, INDEX3},
    {VIN_METHOD_PARTITION_COLLATZ, "partition-collatz", VINI_METHOD_ACCELERATION, PARTITION},
    {VIN_METHOD_PARTITION_RK4, "partition-rk4", VINI_METHOD_ACCELERATION, PARTITION},
};

const int vini_method_count = (int)(sizeof vini_methods / sizeof *vini_methods);
