/* vincula/vincula.h - everything. */
#ifndef VINCULA_VINCULA_H
#define VINCULA_VINCULA_H

#include "vincula/base.h"
#include "vincula/dae.h"
#include "vincula/dae_integrate.h"
#include "vincula/integrate.h"
#include "vincula/kkt.h"
#include "vincula/linsys.h"
#include "vincula/model.h"
#include "vincula/project.h"
#include "vincula/project_dae.h"
#include "vincula/sim.h"
#include "vincula/sparse.h"
#include "vincula/study.h"
#include "vincula/system.h"

#endif
