#ifndef _COMPLEX_H
#define _COMPLEX_H
/* Functions of the C library are known by their names. */
#define complex _Complex
#define I __tilewright_imaginary_unit
#endif
