#ifndef _UNISTD_H
#define _UNISTD_H
/* Functions of the C library are known by their names. */
#include <stddef.h>
#endif
