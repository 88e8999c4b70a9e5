/* figure.h - the curves of an example as a table and as a picture. */
#ifndef VINCULA_DAE_GALLERY_FIGURE_H
#define VINCULA_DAE_GALLERY_FIGURE_H

#include "gallery.h"

/* DIR/<example>.csv: panel, curve, x, y. DIR/<example>.png, by gnuplot. 0: done. */
int figure_csv(const gallery *g);
int figure_draw(const gallery *g);

#endif
