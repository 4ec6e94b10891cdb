#ifndef _STDLIB_H
#define _STDLIB_H
/* Functions of the C library are known by their names. */
#include <stddef.h>
#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
#define RAND_MAX 2147483647
#endif
