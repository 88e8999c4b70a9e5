/* scenes.h - models whose whole steps are measured. */
#ifndef VINCULA_BENCH_SCENES_H
#define VINCULA_BENCH_SCENES_H

#include "bench.h"

#include <vincula/vincula.h>

/* Names, ends with NULL: "chain-point", "chain-rod", "net-point", "net-rod". Besides these,
 * bench_scene_create() knows "triangle": the tethered satellites of the examples. */
extern const char *const bench_scenes[];

/* Chains: fixed at one end, horizontal, links of 1 m and 1 kg, as examples/chain.c. Nets: hung from
 * two opposite corners, horizontal, with a breath of wind, as examples/net.c. bodies: links of a
 * chain, nodes of a net (made a square of at least 9), rounded in place. The first error sticks to
 * the model. */
vin_model *bench_scene_create(const char *scene, int *bodies);

#endif
