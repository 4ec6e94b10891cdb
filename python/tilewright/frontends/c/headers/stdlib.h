#ifndef _STDLIB_H
#define _STDLIB_H
#include <stddef.h>
#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
#define RAND_MAX 2147483647
void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *memory, size_t size);
void *aligned_alloc(size_t alignment, size_t size);
int posix_memalign(void **memory, size_t alignment, size_t size);
void free(void *memory);
int abs(int value);
long labs(long value);
long long llabs(long long value);
int rand(void);
void srand(unsigned int seed);
void exit(int status);
void abort(void);
int atoi(const char *text);
double atof(const char *text);
long strtol(const char *text, char **end, int base);
#endif
