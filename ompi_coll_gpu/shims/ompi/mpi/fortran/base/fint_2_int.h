/* SPDX-License-Identifier: BSD-3-Clause
 * Stands in for a header that Open MPI does not install: conversion of a C int to a Fortran integer, which
 * ompi/op/op.h names in an inline function that the component never calls. */
#ifndef CG_SHIM_FINT_2_INT_H
#define CG_SHIM_FINT_2_INT_H

#define OMPI_INT_2_FINT(a) ((MPI_Fint)(a))
#define OMPI_FINT_2_INT(a) ((int)(a))

#endif
