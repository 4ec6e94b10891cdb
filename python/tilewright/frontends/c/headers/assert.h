#ifndef _ASSERT_H
#define _ASSERT_H
void __pencil_assume(int condition);
#define assert(condition) __pencil_assume(condition)
#endif
