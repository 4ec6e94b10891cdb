/* What exported kernels (docs/export.md) take along in place of the library: threads for parallel
   loops, memory for temporaries, complex functions, integer powers, and the question whether this
   processor can run the code. C11 and POSIX, nothing else; every symbol is hidden, so that each
   shared object has its own. The contract of the functions is runtime/abi.h and
   runtime/math_support.h; the build puts this file's object code into the extension. */
#define _GNU_SOURCE
#include <complex.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

/* ---- memory ---- */

void *tilewright_allocate(int64_t bytes) {
  const int64_t alignment = 64;
  if (bytes < 0 || bytes > INT64_MAX / 2) {
    return NULL;
  }
  const int64_t whole = bytes <= alignment ? alignment : (bytes + alignment - 1) & -alignment;
  return aligned_alloc((size_t)alignment, (size_t)whole);
}

void tilewright_free(void *memory) { free(memory); }

/* ---- parallel loops ---- */

typedef int32_t (*parallel_body)(int64_t begin, int64_t end, void *closure);

enum { max_threads = 256, pieces_per_thread = 4 };

/* Work estimated below this is done sooner than another thread hears of it. */
static const int64_t least_work = 6000;

/* How long a worker looks for the next loop before it sleeps, and a caller for its end. */
static const int64_t patience_nanoseconds = 50 * 1000;

struct loop {
  int64_t begin;
  uint64_t length;
  uint64_t piece;
  void *closure;
  parallel_body body;
  _Atomic uint64_t next;
  _Atomic int32_t status;
};

/* One loop at a time has the workers; another one that is met meanwhile runs in its own thread. */
static struct {
  atomic_bool taken;
  pthread_mutex_t mutex; /* guards what follows */
  pthread_cond_t begun;
  pthread_cond_t left;
  pid_t owner; /* the process that started the workers: a child of fork has none */
  int workers;
  int wanted; /* so many of them may take part in the loop at hand */
  int joined;
  struct loop *loop;
  _Atomic uint64_t generation; /* raised at each loop */
  _Atomic int inside;          /* workers that have joined and not left */
} pool = {.mutex = PTHREAD_MUTEX_INITIALIZER,
          .begun = PTHREAD_COND_INITIALIZER,
          .left = PTHREAD_COND_INITIALIZER};

static _Thread_local bool inside_loop;
static _Atomic int requested_threads;

static int usual_threads(void) {
  static _Atomic int known;
  int count = atomic_load_explicit(&known, memory_order_relaxed);
  if (count == 0) {
    const char *text = getenv("OMP_NUM_THREADS");
    const long asked = text == NULL ? 0 : strtol(text, NULL, 10);
    cpu_set_t set;
    count = 1;
    if (asked > 0) {
      count = asked < max_threads ? (int)asked : max_threads;
    } else if (sched_getaffinity(0, sizeof set, &set) == 0) {
      count = CPU_COUNT(&set);
    }
    count = count < 1 ? 1 : count > max_threads ? max_threads : count;
    atomic_store_explicit(&known, count, memory_order_relaxed);
  }
  return count;
}

static int num_threads(void) {
  const int requested = atomic_load_explicit(&requested_threads, memory_order_relaxed);
  return requested > 0 ? requested : usual_threads();
}

void tilewright_set_num_threads(int32_t count) {
  count = count < 0 ? 0 : count > max_threads ? max_threads : count;
  atomic_store(&requested_threads, count);
}

static void pause_briefly(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static int64_t nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void run_pieces(struct loop *loop) {
  inside_loop = true;
  while (atomic_load_explicit(&loop->status, memory_order_relaxed) == 0) {
    const uint64_t first = atomic_fetch_add_explicit(&loop->next, loop->piece, memory_order_relaxed);
    if (first >= loop->length) {
      break;
    }
    const uint64_t left = loop->length - first;
    const uint64_t count = left < loop->piece ? left : loop->piece;
    const uint64_t start = (uint64_t)loop->begin + first;
    const int32_t status = loop->body((int64_t)start, (int64_t)(start + count), loop->closure);
    int32_t none = 0;
    if (status != 0) {
      atomic_compare_exchange_strong(&loop->status, &none, status);
    }
  }
  inside_loop = false;
}

static void *worker(void *unused) {
  (void)unused;
  uint64_t seen = 0;
  pthread_mutex_lock(&pool.mutex);
  for (;;) {
    struct loop *loop = pool.loop;
    if (loop != NULL && pool.joined < pool.wanted && atomic_load(&pool.generation) != seen) {
      seen = atomic_load(&pool.generation);
      ++pool.joined;
      atomic_fetch_add(&pool.inside, 1);
      pthread_mutex_unlock(&pool.mutex);
      run_pieces(loop);
      pthread_mutex_lock(&pool.mutex);
      if (atomic_fetch_sub(&pool.inside, 1) == 1) {
        pthread_cond_signal(&pool.left);
      }
      continue;
    }
    const uint64_t current = atomic_load(&pool.generation);
    if (current != seen) {
      seen = current; /* that loop is over, or has enough threads */
    }
    pthread_mutex_unlock(&pool.mutex);
    const int64_t end = nanoseconds() + patience_nanoseconds;
    while (atomic_load_explicit(&pool.generation, memory_order_relaxed) == seen &&
           nanoseconds() < end) {
      for (int i = 0; i < 32; ++i) {
        pause_briefly();
      }
    }
    pthread_mutex_lock(&pool.mutex);
    while (atomic_load(&pool.generation) == seen) {
      pthread_cond_wait(&pool.begun, &pool.mutex);
    }
  }
  return NULL;
}

/* With the mutex held. Signals stay with the threads of the program. */
static void need_workers(int count) {
  if (pool.workers >= count) {
    return;
  }
  sigset_t all;
  sigset_t before;
  pthread_attr_t detached;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_init(&detached);
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  while (pool.workers < count) {
    pthread_t thread;
    if (pthread_create(&thread, &detached, worker, NULL) != 0) {
      break; /* no more to be had: the others do its part */
    }
    ++pool.workers;
  }
  pthread_attr_destroy(&detached);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void forget_workers_of_parent(void) {
  const pid_t process = getpid();
  if (pool.owner != process) {
    pthread_mutex_init(&pool.mutex, NULL);
    pthread_cond_init(&pool.begun, NULL);
    pthread_cond_init(&pool.left, NULL);
    pool.owner = process;
    pool.workers = 0;
    pool.loop = NULL;
    atomic_store(&pool.inside, 0);
  }
}

static void run_on_threads(struct loop *loop, int threads) {
  forget_workers_of_parent();
  pthread_mutex_lock(&pool.mutex);
  need_workers(threads - 1);
  pool.loop = loop;
  pool.wanted = threads - 1;
  pool.joined = 0;
  atomic_fetch_add(&pool.generation, 1);
  pthread_cond_broadcast(&pool.begun);
  pthread_mutex_unlock(&pool.mutex);
  run_pieces(loop);
  pthread_mutex_lock(&pool.mutex);
  pool.loop = NULL; /* who comes now comes too late */
  pthread_mutex_unlock(&pool.mutex);
  const int64_t end = nanoseconds() + patience_nanoseconds;
  while (atomic_load(&pool.inside) != 0 && nanoseconds() < end) {
    pause_briefly();
  }
  pthread_mutex_lock(&pool.mutex);
  while (atomic_load(&pool.inside) != 0) {
    pthread_cond_wait(&pool.left, &pool.mutex);
  }
  pthread_mutex_unlock(&pool.mutex);
}

int32_t tilewright_parallel_for(int64_t begin, int64_t end, void *closure, parallel_body body,
                                int64_t dealing, int64_t work) {
  if (begin >= end) {
    return 0;
  }
  const uint64_t length = (uint64_t)end - (uint64_t)begin;
  int threads = num_threads();
  if ((uint64_t)threads > length) {
    threads = (int)length;
  }
  bool free_pool = false;
  if (inside_loop || work < least_work || threads <= 1 || length > UINT64_MAX / 4 ||
      !atomic_compare_exchange_strong(&pool.taken, &free_pool, true)) {
    return body(begin, end, closure);
  }
  /* Pieces to whoever is free, of the size that was asked for, or so many that a thread which
     loses its processor holds up little. */
  const uint64_t asked = dealing < 0 ? -(uint64_t)dealing : (uint64_t)dealing;
  const uint64_t pieces = (uint64_t)threads * pieces_per_thread;
  uint64_t piece = asked != 0 ? asked : (length + pieces - 1) / pieces;
  piece = piece > length ? length : piece;
  struct loop loop = {.begin = begin, .length = length, .piece = piece, .closure = closure,
                      .body = body};
  run_on_threads(&loop, threads);
  const int32_t status = atomic_load(&loop.status);
  atomic_store(&pool.taken, false);
  return status;
}

/* ---- failed subscripts ---- */

struct failure {
  int64_t site;
  int64_t value;
  int64_t extent;
};

void tilewright_report_index(struct failure *failure, int64_t site, int64_t value, int64_t extent) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  *failure = (struct failure){site, value, extent};
  pthread_mutex_unlock(&mutex);
}

/* ---- the processor ---- */

#if defined(__x86_64__)
static uint64_t find_features(void) {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  uint64_t found = 0;
  unsigned vectors = 0; /* what the system keeps of a thread: 1 AVX, 2 AVX-512 */
#define NOTE(bit, condition) found |= (condition) ? (uint64_t)1 << (bit) : 0
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) {
    return 0;
  }
  if ((c >> 27 & 1) != 0) {
    unsigned low = 0;
    unsigned high = 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    vectors = (low & 0xe6) == 0xe6 ? 2 : (low & 6) == 6 ? 1 : 0;
  }
  NOTE(0, c & 1);                       /* sse3 */
  NOTE(1, c >> 9 & 1);                  /* ssse3 */
  NOTE(2, c >> 19 & 1);                 /* sse4.1 */
  NOTE(3, c >> 20 & 1);                 /* sse4.2 */
  NOTE(4, c >> 23 & 1);                 /* popcnt */
  NOTE(5, c >> 22 & 1);                 /* movbe */
  NOTE(6, vectors >= 1 && c >> 28 & 1); /* avx */
  NOTE(7, vectors >= 1 && c >> 12 & 1); /* fma */
  NOTE(8, vectors >= 1 && c >> 29 & 1); /* f16c */
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) != 0) {
    NOTE(9, vectors >= 1 && b >> 5 & 1);   /* avx2 */
    NOTE(10, b >> 3 & 1);                  /* bmi */
    NOTE(11, b >> 8 & 1);                  /* bmi2 */
    NOTE(12, vectors >= 2 && b >> 16 & 1); /* avx512f */
    NOTE(13, vectors >= 2 && b >> 17 & 1); /* avx512dq */
    NOTE(14, vectors >= 2 && b >> 28 & 1); /* avx512cd */
    NOTE(15, vectors >= 2 && b >> 30 & 1); /* avx512bw */
    NOTE(16, vectors >= 2 && b >> 31 & 1); /* avx512vl */
    NOTE(17, vectors >= 2 && c >> 1 & 1);  /* avx512vbmi */
    NOTE(18, vectors >= 2 && c >> 11 & 1); /* avx512vnni */
    NOTE(19, vectors >= 2 && d >> 23 & 1); /* avx512fp16 */
    if (__get_cpuid_count(7, 1, &a, &b, &c, &d) != 0) {
      NOTE(20, vectors >= 2 && a >> 5 & 1); /* avx512bf16 */
      NOTE(21, vectors >= 1 && a >> 4 & 1); /* avxvnni */
    }
  }
  if (__get_cpuid(0x80000001, &a, &b, &c, &d) != 0) {
    NOTE(22, c >> 5 & 1); /* lzcnt */
  }
#undef NOTE
  return found;
}
#endif

/* Whether this processor has all of `needed`; the numbers are those of compiler/export.cpp. */
int32_t tilewright_runs_here(uint64_t needed) {
#if defined(__x86_64__)
  static _Atomic uint64_t known; /* the features and the highest bit */
  uint64_t found = atomic_load_explicit(&known, memory_order_relaxed);
  if (found == 0) {
    found = find_features() | (uint64_t)1 << 63;
    atomic_store_explicit(&known, found, memory_order_relaxed);
  }
  return (needed & ~found) == 0;
#else
  (void)needed;
  return 1;
#endif
}

/* ---- complex functions: x[0..1] in, and x[2..3] of powers; the result in x[0..1] ---- */

/* Made of its parts: the product with I would lose the sign of zeros. */
static inline float _Complex complex64_at(const float *x) { return CMPLXF(x[0], x[1]); }
static inline double _Complex complex128_at(const double *x) { return CMPLX(x[0], x[1]); }
static inline void put_complex64(float *x, float _Complex z) {
  x[0] = crealf(z);
  x[1] = cimagf(z);
}
static inline void put_complex128(double *x, double _Complex z) {
  x[0] = creal(z);
  x[1] = cimag(z);
}

#define COMPLEX(name, of_float, of_double)                                                         \
  void tilewright_complex64_##name(float *x) {                                                     \
    const float _Complex z = complex64_at(x);                                                      \
    put_complex64(x, of_float);                                                                    \
  }                                                                                                \
  void tilewright_complex128_##name(double *x) {                                                   \
    const double _Complex z = complex128_at(x);                                                    \
    put_complex128(x, of_double);                                                                  \
  }

COMPLEX(sqrt, csqrtf(z), csqrt(z))
COMPLEX(exp, cexpf(z), cexp(z))
COMPLEX(exp2, cexpf(CMPLXF(crealf(z) * logf(2), cimagf(z) * logf(2))),
        cexp(CMPLX(creal(z) * log(2), cimag(z) * log(2))))
COMPLEX(log, clogf(z), clog(z))
COMPLEX(log2, CMPLXF(crealf(clogf(z)) / logf(2), cimagf(clogf(z)) / logf(2)),
        CMPLX(creal(clog(z)) / log(2), cimag(clog(z)) / log(2)))
COMPLEX(log10, CMPLXF(crealf(clogf(z)) / logf(10), cimagf(clogf(z)) / logf(10)),
        CMPLX(creal(clog(z)) / log(10), cimag(clog(z)) / log(10)))
COMPLEX(sin, csinf(z), csin(z))
COMPLEX(cos, ccosf(z), ccos(z))
COMPLEX(tan, ctanf(z), ctan(z))
COMPLEX(arcsin, casinf(z), casin(z))
COMPLEX(arccos, cacosf(z), cacos(z))
COMPLEX(arctan, catanf(z), catan(z))
COMPLEX(sinh, csinhf(z), csinh(z))
COMPLEX(cosh, ccoshf(z), ccosh(z))
COMPLEX(tanh, ctanhf(z), ctanh(z))
COMPLEX(arcsinh, casinhf(z), casinh(z))
COMPLEX(arccosh, cacoshf(z), cacosh(z))
COMPLEX(arctanh, catanhf(z), catanh(z))

/* As NumPy: small integer exponents by multiplication, powers of zero by cases. */
#define COMPLEX_POWER(name, real, at, put, make, re, im, power)                                    \
  void name(real *x) {                                                                             \
    const real _Complex base = at(x);                                                              \
    const real _Complex exponent = at(x + 2);                                                      \
    const real n = re(exponent);                                                                   \
    if (n == 0 && im(exponent) == 0) {                                                             \
      put(x, 1);                                                                                   \
    } else if (re(base) == 0 && im(base) == 0) {                                                   \
      put(x, n > 0 ? make(0, 0) : make((real)NAN, (real)NAN));                                     \
    } else if (im(exponent) == 0 && n == (real)trunc(n) && n < 100 && n > -100) {                  \
      real _Complex result = 1;                                                                    \
      real _Complex square = base;                                                                 \
      for (int rest = abs((int)n); rest != 0; rest >>= 1) {                                        \
        if ((rest & 1) != 0) {                                                                     \
          result *= square;                                                                        \
        }                                                                                          \
        square *= square;                                                                          \
      }                                                                                            \
      put(x, n < 0 ? (real)1 / result : result);                                                   \
    } else {                                                                                       \
      put(x, power(base, exponent));                                                               \
    }                                                                                              \
  }

COMPLEX_POWER(tilewright_complex64_pow, float, complex64_at, put_complex64, CMPLXF, crealf, cimagf,
              cpowf)
COMPLEX_POWER(tilewright_complex128_pow, double, complex128_at, put_complex128, CMPLX, creal, cimag,
              cpow)

/* ---- integer powers, modulo 2^64 ---- */

uint64_t tilewright_power_unsigned(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) {
      result *= base;
    }
    base *= base;
  }
  return result;
}

/* A negative exponent truncates the exact power towards zero. */
int64_t tilewright_power_signed(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    return base == 1 || base == -1 ? ((exponent & 1) != 0 ? base : 1) : 0;
  }
  return (int64_t)tilewright_power_unsigned((uint64_t)base, (uint64_t)exponent);
}
