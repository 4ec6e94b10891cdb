/* ---- kernels on a GPU ----
   What the host code of kernels calls. CUDA's driver is a library that is opened when the first
   kernel is to run, libcuda.so.1 or what the environment's TILEWRIGHT_CUDA_DRIVER names; nothing of
   a CUDA toolkit is needed to build this. A call copies its arrays to the first device, launches
   kernels, and copies back what they wrote once all of them are done. When something fails, what
   follows in the call does nothing, the arrays stay as they were, and tilewright_gpu_problem says
   what it was. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const char *name;   /* in the PTX */
  unsigned threads[3]; /* of a block, along x, y and z */
  unsigned shared_bytes;
  void *function; /* the driver's, once the program is loaded */
} tilewright_gpu_kernel;

/* What went wrong once and would again. */
typedef struct {
  int error; /* of the driver; -1: there is none; 0 */
  char text[1024];
} tilewright_gpu_trouble;

typedef struct {
  const char *ptx;
  tilewright_gpu_kernel *kernels;
  int count;
  void *module; /* NULL until it is loaded */
  tilewright_gpu_trouble trouble; /* the driver refuses it */
} tilewright_gpu_program;

enum { tilewright_gpu_in = 1, tilewright_gpu_out = 2 };

/* Memory of the device. */
typedef struct tilewright_gpu_memory_block {
  struct tilewright_gpu_memory_block *next;
  uint64_t address;
  size_t bytes;
  void *copied_to; /* NULL: nothing is copied back */
} tilewright_gpu_memory_block;

/* A call. */
typedef struct {
  int error;        /* as trouble has it */
  int has_context;  /* the device's context is this thread's current one */
  uint64_t failure; /* where threads say what failed; 0: nothing can */
  tilewright_gpu_memory_block *memory;
} tilewright_gpu;

/* Why the last call of this thread that failed did so. */
static __thread char tilewright_gpu_problem[1024];

/* The driver's functions, and the declaration of each in its published interface. */
static struct {
  int (*init)(unsigned flags);
  int (*count)(int *devices);
  int (*device)(int *device, int ordinal);
  int (*retain)(void **context, int device);
  int (*push)(void *context);
  int (*pop)(void **context);
  int (*load)(void **module, const void *ptx, unsigned options, int *names, void **values);
  int (*function)(void **function, void *module, const char *name);
  int (*set)(void *function, int attribute, int value);
  int (*launch)(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream,
                void **arguments, void **extra);
  int (*allocate)(uint64_t *address, size_t bytes);
  int (*release)(uint64_t address);
  int (*copy_in)(uint64_t to, const void *from, size_t bytes, void *stream);
  int (*copy_out)(void *to, uint64_t from, size_t bytes, void *stream);
  int (*fill)(uint64_t address, unsigned char value, size_t bytes, void *stream);
  int (*wait)(void *stream);
  int (*error_text)(int error, const char **text);
} tilewright_cuda;

static const struct {
  const char *name;
  void *place;
} tilewright_cuda_names[] = {
  {"cuInit", &tilewright_cuda.init},
  {"cuDeviceGetCount", &tilewright_cuda.count},
  {"cuDeviceGet", &tilewright_cuda.device},
  {"cuDevicePrimaryCtxRetain", &tilewright_cuda.retain},
  {"cuCtxPushCurrent_v2", &tilewright_cuda.push},
  {"cuCtxPopCurrent_v2", &tilewright_cuda.pop},
  {"cuModuleLoadDataEx", &tilewright_cuda.load},
  {"cuModuleGetFunction", &tilewright_cuda.function},
  {"cuFuncSetAttribute", &tilewright_cuda.set},
  {"cuLaunchKernel", &tilewright_cuda.launch},
  {"cuMemAlloc_v2", &tilewright_cuda.allocate},
  {"cuMemFree_v2", &tilewright_cuda.release},
  {"cuMemcpyHtoDAsync_v2", &tilewright_cuda.copy_in},
  {"cuMemcpyDtoHAsync_v2", &tilewright_cuda.copy_out},
  {"cuMemsetD8Async", &tilewright_cuda.fill},
  {"cuStreamSynchronize", &tilewright_cuda.wait},
  {"cuGetErrorString", &tilewright_cuda.error_text},
};

static pthread_mutex_t tilewright_gpu_mutex = PTHREAD_MUTEX_INITIALIZER;
static void *tilewright_gpu_context; /* of the first device; under the mutex */
static tilewright_gpu_trouble tilewright_gpu_none; /* there is no device; under the mutex */

/* Whether a call of the driver went well; if not, the call has failed. */
static int tilewright_gpu_is_well(tilewright_gpu *gpu, int error, const char *function) {
  const char *text = NULL;
  if (error == 0) {
    return 1;
  }
  if (gpu->error == 0) {
    gpu->error = error;
    if (tilewright_cuda.error_text(error, &text) != 0 || text == NULL) {
      text = "an error that the driver does not know";
    }
    snprintf(tilewright_gpu_problem, sizeof tilewright_gpu_problem, "%s: %s (CUDA error %d)",
             function, text, error);
  }
  return 0;
}

/* Opens the driver, and the context of its first device; under the mutex. */
static void tilewright_gpu_open(tilewright_gpu *gpu) {
  const char *path = getenv("TILEWRIGHT_CUDA_DRIVER");
  void *library;
  void *found;
  int devices = 0;
  int device = 0;
  size_t each;
  path = path == NULL || path[0] == '\0' ? "libcuda.so.1" : path;
  library = dlopen(path, RTLD_NOW);
  if (library == NULL) {
    const char *reason = dlerror();
    gpu->error = -1;
    snprintf(tilewright_gpu_problem, sizeof tilewright_gpu_problem,
             "CUDA's driver %s cannot be loaded: %s", path, reason == NULL ? "no reason" : reason);
    return;
  }
  for (each = 0; each < sizeof tilewright_cuda_names / sizeof *tilewright_cuda_names; ++each) {
    found = dlsym(library, tilewright_cuda_names[each].name);
    if (found == NULL) {
      gpu->error = -1;
      snprintf(tilewright_gpu_problem, sizeof tilewright_gpu_problem,
               "%s is no driver of CUDA 11 or newer: it has no %s", path,
               tilewright_cuda_names[each].name);
      return;
    }
    memcpy(tilewright_cuda_names[each].place, &found, sizeof found);
  }
  if (tilewright_gpu_is_well(gpu, tilewright_cuda.init(0), "cuInit") &&
      tilewright_gpu_is_well(gpu, tilewright_cuda.count(&devices), "cuDeviceGetCount")) {
    if (devices == 0) {
      gpu->error = 100;
      snprintf(tilewright_gpu_problem, sizeof tilewright_gpu_problem,
               "CUDA's driver %s finds no device", path);
    } else if (tilewright_gpu_is_well(gpu, tilewright_cuda.device(&device, 0), "cuDeviceGet")) {
      tilewright_gpu_is_well(gpu, tilewright_cuda.retain(&tilewright_gpu_context, device),
                             "cuDevicePrimaryCtxRetain");
    }
  }
}

/* Has the driver compile a program, and find its kernels; under the mutex. */
static void tilewright_gpu_load(tilewright_gpu *gpu, tilewright_gpu_program *program) {
  enum { error_log = 5, error_log_bytes = 6, most_shared_bytes = 8, usual_shared_bytes = 48 << 10 };
  char log[512] = "";
  int names[] = {error_log, error_log_bytes};
  void *values[] = {log, (void *)(uintptr_t)sizeof log};
  void *module = NULL;
  int number;
  int error = tilewright_cuda.load(&module, program->ptx, 2, names, values);
  if (!tilewright_gpu_is_well(gpu, error, "cuModuleLoadDataEx")) {
    const size_t end = strlen(tilewright_gpu_problem);
    if (log[0] != '\0') {
      snprintf(tilewright_gpu_problem + end, sizeof tilewright_gpu_problem - end, ": %s", log);
    }
    return;
  }
  for (number = 0; number < program->count; ++number) {
    tilewright_gpu_kernel *kernel = &program->kernels[number];
    error = tilewright_cuda.function(&kernel->function, module, kernel->name);
    if (tilewright_gpu_is_well(gpu, error, "cuModuleGetFunction") &&
        kernel->shared_bytes > usual_shared_bytes) {
      tilewright_gpu_is_well(
          gpu, tilewright_cuda.set(kernel->function, most_shared_bytes, (int)kernel->shared_bytes),
          "cuFuncSetAttribute");
    }
  }
  if (gpu->error == 0) {
    program->module = module;
  }
}

/* Memory for so many elements, which is there until the end of the call at most. */
static uint64_t tilewright_gpu_memory(tilewright_gpu *gpu, int64_t count, size_t bytes) {
  tilewright_gpu_memory_block *block;
  if (gpu->error != 0) {
    return 0;
  }
  block = malloc(sizeof *block);
  if (block == NULL || count > INT64_MAX / (int64_t)bytes) {
    free(block);
    gpu->error = 2;
    snprintf(tilewright_gpu_problem, sizeof tilewright_gpu_problem, "there is no memory");
    return 0;
  }
  block->bytes = count <= 0 ? 0 : (size_t)count * bytes;
  block->copied_to = NULL;
  if (!tilewright_gpu_is_well(
          gpu, tilewright_cuda.allocate(&block->address, block->bytes == 0 ? 1 : block->bytes),
          "cuMemAlloc")) {
    free(block);
    return 0;
  }
  block->next = gpu->memory;
  gpu->memory = block;
  return block->address;
}

/* Gives memory back before the end of the call; the driver waits for kernels that use it. */
__attribute__((unused)) static void tilewright_gpu_free(tilewright_gpu *gpu, uint64_t address) {
  tilewright_gpu_memory_block **each;
  for (each = &gpu->memory; *each != NULL; each = &(*each)->next) {
    if ((*each)->address == address) {
      tilewright_gpu_memory_block *block = *each;
      *each = block->next;
      tilewright_gpu_is_well(gpu, tilewright_cuda.release(address), "cuMemFree");
      free(block);
      return;
    }
  }
}

/* An array of the host on the device: copied there, or back at the end of the call, or both. */
static uint64_t tilewright_gpu_array(tilewright_gpu *gpu, const void *array, int64_t count,
                                     size_t bytes, int copies) {
  const uint64_t address = tilewright_gpu_memory(gpu, count, bytes);
  if (gpu->error != 0) {
    return 0;
  }
  if ((copies & tilewright_gpu_out) != 0) {
    gpu->memory->copied_to = (void *)(uintptr_t)array;
  }
  if ((copies & tilewright_gpu_in) != 0 && gpu->memory->bytes > 0) {
    tilewright_gpu_is_well(gpu,
                           tilewright_cuda.copy_in(address, array, gpu->memory->bytes, NULL),
                           "cuMemcpyHtoDAsync");
  }
  return address;
}

/* Whether there was no trouble before; else it fails the call. */
static int tilewright_gpu_may(tilewright_gpu *gpu, const tilewright_gpu_trouble *trouble) {
  if (trouble->error != 0) {
    gpu->error = trouble->error;
    memcpy(tilewright_gpu_problem, trouble->text, sizeof tilewright_gpu_problem);
  }
  return gpu->error == 0;
}

/* What failed the call is remembered. */
static void tilewright_gpu_keep(const tilewright_gpu *gpu, tilewright_gpu_trouble *trouble) {
  trouble->error = gpu->error;
  memcpy(trouble->text, tilewright_gpu_problem, sizeof trouble->text);
}

/* Begins a call of a program. */
static void tilewright_gpu_begin(tilewright_gpu *gpu, tilewright_gpu_program *program,
                                 int may_fail) {
  memset(gpu, 0, sizeof *gpu);
  pthread_mutex_lock(&tilewright_gpu_mutex);
  if (tilewright_gpu_context == NULL && tilewright_gpu_may(gpu, &tilewright_gpu_none)) {
    tilewright_gpu_open(gpu);
    tilewright_gpu_keep(gpu, &tilewright_gpu_none);
  }
  if (gpu->error == 0) {
    gpu->has_context = tilewright_gpu_is_well(gpu, tilewright_cuda.push(tilewright_gpu_context),
                                              "cuCtxPushCurrent");
  }
  if (gpu->error == 0 && program->module == NULL &&
      tilewright_gpu_may(gpu, &program->trouble)) {
    tilewright_gpu_load(gpu, program);
    tilewright_gpu_keep(gpu, &program->trouble);
  }
  pthread_mutex_unlock(&tilewright_gpu_mutex);
  if (may_fail) {
    gpu->failure = tilewright_gpu_memory(gpu, 4, sizeof(int64_t));
    if (gpu->error == 0) {
      tilewright_gpu_is_well(gpu, tilewright_cuda.fill(gpu->failure, 0, 4 * sizeof(int64_t), NULL),
                             "cuMemsetD8Async");
    }
  }
}

/* Launches a kernel on so many blocks, after what the call launched before. */
static void tilewright_gpu_launch(tilewright_gpu *gpu, const tilewright_gpu_kernel *kernel,
                                  int64_t grid_x, int64_t grid_y, int64_t grid_z, int count,
                                  const uint64_t *arguments) {
  void *places[512];
  int each;
  if (gpu->error != 0 || grid_x <= 0 || grid_y <= 0 || grid_z <= 0) {
    return;
  }
  if (grid_x > INT32_MAX || grid_y > 65535 || grid_z > 65535) {
    gpu->error = 1;
    snprintf(tilewright_gpu_problem, sizeof tilewright_gpu_problem,
             "%s: a grid of %lld x %lld x %lld blocks is more than a device takes", kernel->name,
             (long long)grid_x, (long long)grid_y, (long long)grid_z);
    return;
  }
  for (each = 0; each < count; ++each) {
    places[each] = (void *)(uintptr_t)&arguments[each];
  }
  tilewright_gpu_is_well(
      gpu,
      tilewright_cuda.launch(kernel->function, (unsigned)grid_x, (unsigned)grid_y, (unsigned)grid_z,
                             kernel->threads[0], kernel->threads[1], kernel->threads[2],
                             kernel->shared_bytes, NULL, places, NULL),
      "cuLaunchKernel");
}

/* Ends a call: waits, and copies back what kernels wrote, unless something failed. The status is
   `status` if that says already what failed; else 0, a subscript's, or the device's: 9 if nothing
   is written, 10 if something may be, each with the driver's error in the bits from the 8th on. */
static int tilewright_gpu_end(tilewright_gpu *gpu, int status) {
  enum { subscript = 1, no_device = 9, lost = 10 };
  int64_t failure[4] = {0, 0, 0, 0}; /* of 32 bits: whether; the number of the subscript */
  int copying = 0;
  void *context = NULL;
  tilewright_gpu_memory_block *block;
  if (gpu->error == 0 && status == 0) {
    if (gpu->failure != 0) {
      tilewright_gpu_is_well(
          gpu, tilewright_cuda.copy_out(failure, gpu->failure, sizeof failure, NULL),
          "cuMemcpyDtoHAsync");
    }
    tilewright_gpu_is_well(gpu, tilewright_cuda.wait(NULL), "cuStreamSynchronize");
    if ((failure[0] & INT32_MAX) != 0) {
      status = subscript | (int)failure[1] << 8;
    }
  }
  if (gpu->error == 0 && status == 0) {
    copying = 1;
    for (block = gpu->memory; block != NULL; block = block->next) {
      if (block->copied_to != NULL && block->bytes > 0) {
        tilewright_gpu_is_well(
            gpu, tilewright_cuda.copy_out(block->copied_to, block->address, block->bytes, NULL),
            "cuMemcpyDtoHAsync");
      }
    }
    tilewright_gpu_is_well(gpu, tilewright_cuda.wait(NULL), "cuStreamSynchronize");
  }
  if (status == 0 && gpu->error != 0) {
    status = (copying ? lost : no_device) | (gpu->error < 0 ? 0 : gpu->error << 8);
  }
  while (gpu->memory != NULL) {
    block = gpu->memory;
    gpu->memory = block->next;
    tilewright_cuda.release(block->address);
    free(block);
  }
  if (gpu->has_context) {
    tilewright_cuda.pop(&context);
  }
  return status;
}

