#ifndef _MATH_H
#define _MATH_H
double acos(double value);
float acosf(float value);
double asin(double value);
float asinf(float value);
double atan(double value);
float atanf(float value);
double acosh(double value);
float acoshf(float value);
double asinh(double value);
float asinhf(float value);
double atanh(double value);
float atanhf(float value);
double cos(double value);
float cosf(float value);
double sin(double value);
float sinf(float value);
double tan(double value);
float tanf(float value);
double cosh(double value);
float coshf(float value);
double sinh(double value);
float sinhf(float value);
double tanh(double value);
float tanhf(float value);
double exp(double value);
float expf(float value);
double exp2(double value);
float exp2f(float value);
double expm1(double value);
float expm1f(float value);
double log(double value);
float logf(float value);
double log10(double value);
float log10f(float value);
double log1p(double value);
float log1pf(float value);
double log2(double value);
float log2f(float value);
double sqrt(double value);
float sqrtf(float value);
double cbrt(double value);
float cbrtf(float value);
double fabs(double value);
float fabsf(float value);
double erf(double value);
float erff(float value);
double erfc(double value);
float erfcf(float value);
double lgamma(double value);
float lgammaf(float value);
double tgamma(double value);
float tgammaf(float value);
double ceil(double value);
float ceilf(float value);
double floor(double value);
float floorf(float value);
double nearbyint(double value);
float nearbyintf(float value);
double rint(double value);
float rintf(float value);
double round(double value);
float roundf(float value);
double trunc(double value);
float truncf(float value);
double atan2(double a, double b);
float atan2f(float a, float b);
double copysign(double a, double b);
float copysignf(float a, float b);
double fdim(double a, double b);
float fdimf(float a, float b);
double fmax(double a, double b);
float fmaxf(float a, float b);
double fmin(double a, double b);
float fminf(float a, float b);
double fmod(double a, double b);
float fmodf(float a, float b);
double hypot(double a, double b);
float hypotf(float a, float b);
double pow(double a, double b);
float powf(float a, float b);
double remainder(double a, double b);
float remainderf(float a, float b);
double fma(double a, double b, double c);
float fmaf(float a, float b, float c);
long lround(double value);
long lrint(double value);
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
#endif
