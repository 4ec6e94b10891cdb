#ifndef _UNISTD_H
#define _UNISTD_H
#include <stddef.h>
unsigned int sleep(unsigned int seconds);
#endif
