#ifndef _TIME_H
#define _TIME_H
/* Functions of the C library are known by their names. */
#include <stddef.h>
typedef long time_t;
typedef long clock_t;
struct timespec { time_t tv_sec; long tv_nsec; };
#define CLOCKS_PER_SEC 1000000L
#define CLOCK_MONOTONIC 1
#endif
