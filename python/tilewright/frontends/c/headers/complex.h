#ifndef _COMPLEX_H
#define _COMPLEX_H
#define complex _Complex
#define I __tilewright_imaginary_unit
double cabs(double _Complex value);
float cabsf(float _Complex value);
double creal(double _Complex value);
float crealf(float _Complex value);
double cimag(double _Complex value);
float cimagf(float _Complex value);
double _Complex conj(double _Complex value);
float _Complex conjf(float _Complex value);
#endif
