#ifndef _STRING_H
#define _STRING_H
/* Functions of the C library are known by their names. */
#include <stddef.h>
#endif
