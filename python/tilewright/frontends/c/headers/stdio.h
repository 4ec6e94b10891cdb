#ifndef _STDIO_H
#define _STDIO_H
/* Functions of the C library are known by their names. */
#include <stddef.h>
typedef struct _FILE FILE;
extern FILE *stdin;
extern FILE *stdout;
extern FILE *stderr;
#endif
