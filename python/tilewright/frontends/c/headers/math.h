#ifndef _MATH_H
#define _MATH_H
/* Functions of the C library are known by their names. */
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#define HUGE_VAL __tilewright_infinity
#define INFINITY ((float)__tilewright_infinity)
#define NAN ((float)__tilewright_nan)
#define isnan(value) __tilewright_isnan(value)
#define isinf(value) __tilewright_isinf(value)
#define isfinite(value) __tilewright_isfinite(value)
#define signbit(value) __tilewright_signbit(value)
static long lrint(double x) { return (long)rint(x); }
static long long llrint(double x) { return (long long)rint(x); }
static long lround(double x) { return (long)round(x); }
static long long llround(double x) { return (long long)round(x); }
#endif
