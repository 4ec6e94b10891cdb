// Copies and frees of isl's objects ask whether their thread has isl's lock (isl_lock.h). The
// linker calls these instead of isl's (--wrap, cmake/TilewrightISL.cmake); objects are known by
// address only.
#include "polyhedral/isl_lock.h"

#ifdef TILEWRIGHT_ISL_WRAPPED

extern "C" {

// Names with leading underscores are the linker's.
#define TILEWRIGHT_CHECKED(type)                                                                   \
  void *real_copy_##type(void *object) __asm__("__real_isl_" #type "_copy");                       \
  void *real_free_##type(void *object) __asm__("__real_isl_" #type "_free");                       \
  void *checked_copy_##type(void *object) __asm__("__wrap_isl_" #type "_copy");                    \
  void *checked_free_##type(void *object) __asm__("__wrap_isl_" #type "_free");                    \
  void *checked_copy_##type(void *object) {                                                        \
    if (object != nullptr) {                                                                       \
      tilewright::note_isl_use();                                                                  \
    }                                                                                              \
    return real_copy_##type(object);                                                               \
  }                                                                                                \
  void *checked_free_##type(void *object) {                                                        \
    if (object != nullptr) {                                                                       \
      tilewright::note_isl_use();                                                                  \
    }                                                                                              \
    return real_free_##type(object);                                                               \
  }

TILEWRIGHT_CHECKED(set)
TILEWRIGHT_CHECKED(map)
TILEWRIGHT_CHECKED(basic_set)
TILEWRIGHT_CHECKED(basic_map)
TILEWRIGHT_CHECKED(aff)
TILEWRIGHT_CHECKED(pw_aff)
TILEWRIGHT_CHECKED(multi_aff)
TILEWRIGHT_CHECKED(pw_multi_aff)
TILEWRIGHT_CHECKED(multi_pw_aff)
TILEWRIGHT_CHECKED(space)
TILEWRIGHT_CHECKED(local_space)
TILEWRIGHT_CHECKED(val)
TILEWRIGHT_CHECKED(multi_val)
TILEWRIGHT_CHECKED(point)
TILEWRIGHT_CHECKED(id)
TILEWRIGHT_CHECKED(constraint)
TILEWRIGHT_CHECKED(union_set)
TILEWRIGHT_CHECKED(union_map)
TILEWRIGHT_CHECKED(ast_expr)
TILEWRIGHT_CHECKED(ast_node)
TILEWRIGHT_CHECKED(ast_build)
TILEWRIGHT_CHECKED(mat)
TILEWRIGHT_CHECKED(schedule)
TILEWRIGHT_CHECKED(schedule_node)
TILEWRIGHT_CHECKED(schedule_constraints)

#undef TILEWRIGHT_CHECKED
}

#endif
