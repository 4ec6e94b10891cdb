#ifndef _TIME_H
#define _TIME_H
#include <stddef.h>
typedef long time_t;
typedef long clock_t;
struct timespec { time_t tv_sec; long tv_nsec; };
#define CLOCKS_PER_SEC 1000000L
#define CLOCK_MONOTONIC 1
time_t time(time_t *result);
clock_t clock(void);
int clock_gettime(int which, struct timespec *result);
#endif
