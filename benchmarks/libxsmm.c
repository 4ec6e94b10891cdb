// A batch of small products by libxsmm, in one call, so that what a call from Python costs is not
// part of the figures. Row-major, C = A B; libxsmm is column-major, so C' = B' A'.
#include <libxsmm.h>

#define BATCH(name, type, dispatch, function)                                                      \
  int name(int n, int m, int k, long count, const type *a, const type *b, type *c) {               \
    const type alpha = 1, beta = 0;                                                                \
    const int flags = LIBXSMM_GEMM_FLAG_NONE;                                                      \
    function kernel = dispatch(m, n, k, NULL, NULL, NULL, &alpha, &beta, &flags, NULL);            \
    if (kernel == NULL)                                                                            \
      return 0;                                                                                    \
    for (long x = 0; x < count; ++x)                                                               \
      kernel(b + x * k * m, a + x * n * k, c + x * n * m);                                         \
    return 1;                                                                                      \
  }

BATCH(batch_float32, float, libxsmm_smmdispatch, libxsmm_smmfunction)
BATCH(batch_float64, double, libxsmm_dmmdispatch, libxsmm_dmmfunction)

// Names the target that libxsmm generates code for ("clx").
const char *target(void) { return libxsmm_get_target_arch(); }
