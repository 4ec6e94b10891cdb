#ifndef _STRING_H
#define _STRING_H
/* memset, memcpy and memmove are known by their names. Texts are arrays that end with 0. */
#include <stddef.h>
static size_t strlen(const char *text) {
  size_t length = 0;
  while (text[length] != 0) length++;
  return length;
}
static int strcmp(const char *a, const char *b) {
  size_t at = 0;
  while (a[at] != 0 && a[at] == b[at]) at++;
  return (unsigned char)a[at] - (unsigned char)b[at];
}
static int strncmp(const char *a, const char *b, size_t most) {
  size_t at = 0;
  while (at < most && a[at] != 0 && a[at] == b[at]) at++;
  return at == most ? 0 : (unsigned char)a[at] - (unsigned char)b[at];
}
static void strcpy(char *to, const char *text) {
  size_t at = 0;
  while (text[at] != 0) {
    to[at] = text[at];
    at++;
  }
  to[at] = 0;
}
#endif
