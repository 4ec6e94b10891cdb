#ifndef _PENCIL_H
#define _PENCIL_H
void __pencil_assume(int condition);
void __pencil_kill();
void __pencil_use();
void __pencil_def();
void __pencil_may_def();
int __pencil_maybe();
int __pencil_npr();
#define PENCIL_ARRAY static const restrict
#define pencil_attributes
#endif
