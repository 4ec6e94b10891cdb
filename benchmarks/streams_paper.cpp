// The five programs of Leben and Tzanetakis (ACM TACO 16(3), 2019, section 6.1) as C++ programmers
// write them, in three forms each:
//
//   plain   loops over one element after the other, history in circular buffers of a power of two
//   (a mask); hand    the work for one element with OpenMP and SIMD, history in linear buffers
//   where that helps (section 6.2); tiled   all elements of a block together: tiles over several
//   elements of time, in registers and caches.
//
// A program is an object with `push(x, count, y)`. Everything is double, and begins with zeros.

#include "streams_paper/filters.h"
#include "streams_paper/waves.h"

namespace {

Program *filter_bank(long form, long size, const double *b, long block) {
  switch (form) {
  case 0:
    return new PlainFilterBank(size, b);
  case 1:
    return new HandFilterBank(size, b, block);
  default:
    return new TiledFilterBank(size, b, block);
  }
}

Program *max_filter(long form, long size, long block) {
  switch (form) {
  case 0:
    return new PlainMaxFilter(size);
  case 1:
    return new HandMaxFilter(size, block);
  default:
    return new TiledMaxFilter(size, block);
  }
}

Program *autocorrelation(long form, long size, long block) {
  switch (form) {
  case 0:
    return new PlainAutocorrelation(size);
  case 1:
    return new HandAutocorrelation(size, block);
  default:
    return new TiledAutocorrelation(size, block);
  }
}

Program *wave1d(long form, long size) {
  switch (form) {
  case 0:
    return new PlainWave1d(size);
  case 1:
    return new HandWave1d(size);
  default:
    return new TiledWave1d(size);
  }
}

Program *wave2d(long form, long size) {
  switch (form) {
  case 0:
    return new PlainWave2d(size);
  case 1:
    return new HandWave2d(size);
  default:
    return new TiledWave2d(size);
  }
}

} // namespace

extern "C" {

// Program 0 to 4 in the order of the paper, form 0 to 2; `b` outlives it, and blocks have at most
// `block` elements.
void *open_program(long program, long form, long size, const double *b, long block) {
  switch (program) {
  case 0:
    return filter_bank(form, size, b, block);
  case 1:
    return max_filter(form, size, block);
  case 2:
    return autocorrelation(form, size, block);
  case 3:
    return wave1d(form, size);
  default:
    return wave2d(form, size);
  }
}

void push_program(void *program, const double *x, long count, double *y) {
  static_cast<Program *>(program)->push(x, count, y);
}

void close_program(void *program) { delete static_cast<Program *>(program); }

} // extern "C"
