/* How tests steer the test double of libcuda (fake_cuda.cpp), which they load as a shared library.
   In C, so that ctypes can call it too. */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Starts anew, as a process that has not called cuInit, with settings "key=value;key=value":
     devices=2        how many there are
     version=12040    of the driver; negative: asking for it gives this result
     capability=90    of the devices
     memory=1000000   bytes of each
     pools=0          no memory pools
     ptx=85           the newest PTX version that it compiles
     pitch=1000       bytes at most between rows of a copy
     init=100         what cuInit answers
     busy=500         milliseconds from now on until streams and events are done
     run=1            kernels run, interpreted (ptx.h); else they do nothing
     quiet=1          nothing is logged, no clocks are kept: for measurements
     fail=cuMemcpyHtoDAsync_v2:3:700   the third call from now on gives 700; "*" for every call
     fault=name:719   kernel `name` fails while it runs ("*": every one): later waits give 719
   The environment's TILEWRIGHT_TEST_FAKE_CUDA has the first settings. Memory that is allocated
   goes. */
void fake_cuda_configure(const char *settings);
/* Adds "fail=...", "fault=..." or "busy=..." without starting anew. */
void fake_cuda_add(const char *settings);

/* What happened since the last start: a line for each call that does something to a device, as
     copy_in 64 stream 0 | launch add grid 4 1 1 block 128 1 1 shared 0 stream 0 args 08,...
   The text stays until the next call in this thread. */
const char *fake_cuda_log(void);
void fake_cuda_clear_log(void);
/* Times that a function was called since the last start. */
int fake_cuda_calls(const char *function);
/* Contexts on this thread's stack, and whether a context of another library is the current one. */
int fake_cuda_context_depth(void);
/* Another library's context on top of the stack; and off again. */
void fake_cuda_push_foreign(void);
int fake_cuda_pop_foreign(void);
size_t fake_cuda_bytes_in_use(int device);
/* How often the device's primary context is retained. */
int fake_cuda_retained(int device);
int fake_cuda_modules(void);

/* Uses of one block of memory of which, by streams and events, neither must be first: a line for
   each, since the last start. A device may run them at the same time. */
const char *fake_cuda_unordered(void);

/* Runs the kernels: arguments[a] points to the a-th one. Null: they do nothing. */
typedef void (*fake_cuda_executor)(const char *name, const unsigned *grid, const unsigned *block,
                                   void **arguments, int count);
void fake_cuda_set_executor(fake_cuda_executor executor);

#ifdef __cplusplus
}
#endif
