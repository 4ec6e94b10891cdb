#ifndef _CTYPE_H
#define _CTYPE_H
/* As in the "C" locale: of other characters than ASCII's, none is of a kind. */
static int isdigit(int c) { return c >= '0' && c <= '9'; }
static int isupper(int c) { return c >= 'A' && c <= 'Z'; }
static int islower(int c) { return c >= 'a' && c <= 'z'; }
static int isalpha(int c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }
static int isalnum(int c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }
static int isxdigit(int c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F') || (c >= 'a' && c <= 'f'); }
static int isblank(int c) { return c == ' ' || c == 9; }
static int isspace(int c) { return c == ' ' || (c >= 9 && c <= 13); }
static int isprint(int c) { return c >= 32 && c < 127; }
static int isgraph(int c) { return c > 32 && c < 127; }
static int iscntrl(int c) { return (c >= 0 && c < 32) || c == 127; }
static int ispunct(int c) { return (c > 32 && c < '0') || (c > '9' && c < 'A') || (c > 'Z' && c < 'a') || (c > 'z' && c < 127); }
static int toupper(int c) { return c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c; }
static int tolower(int c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; }
#endif
