// Filter bank, max filter and autocorrelation, in three forms each (streams_paper.cpp says which).
#pragma once

#include "program.h"

#include <algorithm>

// ---- filter bank: y[n, i] = sum over k of b[i, k] x[n - k] ----

struct PlainFilterBank : Program {
  long size, mask, now = 0;
  const double *b;
  Reals line;
  PlainFilterBank(long size, const double *b)
      : size(size), mask(power_of_two(size) - 1), b(b), line(size_t(mask + 1), 0.0) {}
  void push(const double *x, long count, double *y) override {
    for (long n = 0; n < count; ++n, ++now) {
      line[size_t(now & mask)] = x[n];
      for (long i = 0; i < size; ++i) {
        double sum = 0.0;
        for (long k = 0; k < size; ++k) {
          sum += b[i * size + k] * line[size_t((now - k) & mask)];
        }
        y[n * size + i] = sum;
      }
    }
  }
};

struct HandFilterBank : Program {
  long size;
  Reals turned; // rows of taps from the last one to the first one
  History line;
  HandFilterBank(long size, const double *b, long block)
      : size(size), turned(size_t(size * size)), line(size - 1, 1, block) {
    for (long i = 0; i < size; ++i) {
      std::reverse_copy(b + i * size, b + (i + 1) * size, turned.begin() + i * size);
    }
  }
  void push(const double *x, long count, double *y) override {
    const double *fresh = line.append(x, count);
    for (long n = 0; n < count; ++n) {
      const double *from = fresh + n - (size - 1);
#pragma omp parallel for schedule(static) if (size * size > 60000)
      for (long i = 0; i < size; ++i) {
        const double *row = turned.data() + i * size;
        double sum = 0.0;
#pragma omp simd reduction(+ : sum)
        for (long k = 0; k < size; ++k) {
          sum += row[k] * from[k];
        }
        y[n * size + i] = sum;
      }
    }
    line.drop(count);
  }
};

struct TiledFilterBank : Program {
  static constexpr long WIDE = 32, HIGH = 4, DEEP = 256;
  long size, wide;
  Reals columns; // taps k of filters i ... i + WIDE beside each other
  History line;
  TiledFilterBank(long size, const double *b, long block)
      : size(size), wide((size + WIDE - 1) / WIDE), columns(size_t(wide * WIDE * size), 0.0),
        line(size - 1, 1, block) {
    for (long i = 0; i < size; ++i) {
      for (long k = 0; k < size; ++k) {
        columns[size_t(((i / WIDE) * size + k) * WIDE + i % WIDE)] = b[i * size + k];
      }
    }
  }
  template <long ROWS>
  void tile(const double *from, const double *taps, long length, double *y, long columns_left,
            bool first) {
    double sums[ROWS][WIDE];
    for (long r = 0; r < ROWS; ++r) {
      for (long i = 0; i < WIDE; ++i) {
        sums[r][i] = first || i >= columns_left ? 0.0 : y[r * size + i];
      }
    }
    for (long k = 0; k < length; ++k) {
      for (long r = 0; r < ROWS; ++r) {
        const double value = from[r - k];
#pragma omp simd
        for (long i = 0; i < WIDE; ++i) {
          sums[r][i] += value * taps[k * WIDE + i];
        }
      }
    }
    for (long r = 0; r < ROWS; ++r) {
      for (long i = 0; i < std::min(WIDE, columns_left); ++i) {
        y[r * size + i] = sums[r][i];
      }
    }
  }
  void push(const double *x, long count, double *y) override {
    const double *fresh = line.append(x, count);
#pragma omp parallel for schedule(static) if (size * size * count > 60000)
    for (long block = 0; block < wide; ++block) {
      for (long k = 0; k < size; k += DEEP) {
        const double *taps = columns.data() + (block * size + k) * WIDE;
        const long length = std::min(DEEP, size - k), left = size - block * WIDE;
        long n = 0;
        for (; n + HIGH <= count; n += HIGH) {
          tile<HIGH>(fresh + n - k, taps, length, y + n * size + block * WIDE, left, k == 0);
        }
        for (; n < count; ++n) {
          tile<1>(fresh + n - k, taps, length, y + n * size + block * WIDE, left, k == 0);
        }
      }
    }
    line.drop(count);
  }
};

// ---- max filter: y[n, i] = max over k of x[n - k, i]; zeros before n = 0 do not count ----

struct PlainMaxFilter : Program {
  long size, mask, now = 0;
  Reals line;
  explicit PlainMaxFilter(long size)
      : size(size), mask(power_of_two(size) - 1), line(size_t((mask + 1) * size), 0.0) {}
  void push(const double *x, long count, double *y) override {
    for (long n = 0; n < count; ++n, ++now) {
      std::memcpy(&line[size_t((now & mask) * size)], x + n * size, size_t(size) * sizeof(double));
      const long last = std::min(size, now + 1);
      for (long i = 0; i < size; ++i) {
        double most = x[n * size + i];
        for (long k = 1; k < last; ++k) {
          most = std::max(most, line[size_t(((now - k) & mask) * size + i)]);
        }
        y[n * size + i] = most;
      }
    }
  }
};

struct HandMaxFilter : Program {
  static constexpr long WIDE = 64;
  long size, now = 0;
  History line;
  HandMaxFilter(long size, long block) : size(size), line(size - 1, size, block) {}
  void push(const double *x, long count, double *y) override {
    const double *fresh = line.append(x, count);
    for (long n = 0; n < count; ++n) {
      const long last = std::min(size, now + n + 1);
#pragma omp parallel for schedule(static) if (size * size > 60000)
      for (long block = 0; block < size; block += WIDE) {
        const long end = std::min(size, block + WIDE);
        double *to = y + n * size;
        std::copy(fresh + n * size + block, fresh + n * size + end, to + block);
        for (long k = 1; k < last; ++k) {
          const double *from = fresh + (n - k) * size;
#pragma omp simd
          for (long i = block; i < end; ++i) {
            to[i] = std::max(to[i], from[i]);
          }
        }
      }
    }
    line.drop(count);
    now += count;
  }
};

struct TiledMaxFilter : Program {
  static constexpr long WIDE = 32, HIGH = 4, DEEP = 64;
  long size, now = 0;
  History line;
  TiledMaxFilter(long size, long block) : size(size), line(size - 1, size, block) {}
  // Of ROWS elements of time, the terms k ... k + length, all of which exist.
  template <long ROWS>
  void tile(const double *from, long length, double *to) {
    double most[ROWS][WIDE];
    for (long r = 0; r < ROWS; ++r) {
      std::copy(to + r * size, to + r * size + WIDE, most[r]);
    }
    for (long k = 0; k < length; ++k) {
      for (long r = 0; r < ROWS; ++r) {
        const double *row = from + (r - k) * size;
#pragma omp simd
        for (long i = 0; i < WIDE; ++i) {
          most[r][i] = std::max(most[r][i], row[i]);
        }
      }
    }
    for (long r = 0; r < ROWS; ++r) {
      std::copy(most[r], most[r] + WIDE, to + r * size);
    }
  }
  void push(const double *x, long count, double *y) override {
    const double *fresh = line.append(x, count);
    std::memcpy(y, fresh, size_t(count * size) * sizeof(double));
#pragma omp parallel for schedule(static) if (size * size * count > 60000)
    for (long block = 0; block < size; block += WIDE) {
      if (block + WIDE > size) {
        for (long n = 0; n < count; ++n) {
          for (long k = 1; k < std::min(size, now + n + 1); ++k) {
            for (long i = block; i < size; ++i) {
              y[n * size + i] = std::max(y[n * size + i], fresh[(n - k) * size + i]);
            }
          }
        }
        continue;
      }
      for (long k = 1; k < size; k += DEEP) {
        const long length = std::min(DEEP, size - k);
        for (long n = 0; n < count;) {
          const bool whole = n + HIGH <= count && now + n - k - length + 1 >= 0;
          const long there = std::min(length, now + n - k + 1);
          const double *from = fresh + (n - k) * size + block;
          if (whole) {
            tile<HIGH>(from, length, y + n * size + block);
          } else if (there > 0) {
            tile<1>(from, there, y + n * size + block);
          }
          n += whole ? HIGH : 1;
        }
      }
    }
    line.drop(count);
    now += count;
  }
};

// ---- autocorrelation: y[m, l] = sum over k < W of x[m W / 4 + k] x[m W / 4 + k + l], W = 5 N ----

struct PlainAutocorrelation : Program {
  long window, hop, mask, now = 0, next = 0;
  Reals line;
  explicit PlainAutocorrelation(long size)
      : window(5 * size), hop(window / 4), mask(power_of_two(2 * window) - 1),
        line(size_t(mask + 1), 0.0) {}
  void push(const double *x, long count, double *y) override {
    for (long n = 0; n < count; ++n, ++now) {
      line[size_t(now & mask)] = x[n];
      if (now < next + 2 * window - 2) {
        continue;
      }
      for (long l = 0; l < window; ++l) {
        double sum = 0.0;
        for (long k = 0; k < window; ++k) {
          sum += line[size_t((next + k) & mask)] * line[size_t((next + k + l) & mask)];
        }
        *y++ = sum;
      }
      next += hop;
    }
  }
};

struct HandAutocorrelation : Program {
  static constexpr long WIDE = 8;
  long window, hop, now = 0, next = 0;
  History line;
  HandAutocorrelation(long size, long block)
      : window(5 * size), hop(window / 4), line(2 * window - 2 + hop, 1, block) {}
  void push(const double *x, long count, double *y) override {
    const double *fresh = line.append(x, count);
    for (; next + 2 * window - 2 < now + count; next += hop, y += window) {
      const double *from = fresh + (next - now);
#pragma omp parallel for schedule(static) if (window * window > 60000)
      for (long l = 0; l < window; l += WIDE) {
        double sums[WIDE] = {};
        const long wide = std::min(WIDE, window - l);
        if (wide == WIDE) {
          for (long k = 0; k < window; ++k) {
#pragma omp simd
            for (long i = 0; i < WIDE; ++i) {
              sums[i] += from[k] * from[k + l + i];
            }
          }
        } else {
          for (long k = 0; k < window; ++k) {
            for (long i = 0; i < wide; ++i) {
              sums[i] += from[k] * from[k + l + i];
            }
          }
        }
        std::copy(sums, sums + wide, y + l);
      }
    }
    line.drop(count);
    now += count;
  }
};

struct TiledAutocorrelation : Program {
  static constexpr long WIDE = 64, DEEP = 1024;
  long window, hop, now = 0, next = 0;
  History line;
  TiledAutocorrelation(long size, long block)
      : window(5 * size), hop(window / 4), line(2 * window - 2 + hop, 1, block) {}
  template <bool WHOLE>
  void tile(const double *from, long length, long lag, double *y) {
    double sums[WIDE];
    const long wide = WHOLE ? WIDE : window - lag;
    std::copy(y, y + wide, sums);
    for (long k = 0; k < length; ++k) {
      const double value = from[k];
#pragma omp simd
      for (long i = 0; i < wide; ++i) {
        sums[i] += value * from[k + lag + i];
      }
    }
    std::copy(sums, sums + wide, y);
  }
  void push(const double *x, long count, double *y) override {
    const double *fresh = line.append(x, count);
    const long behind = now + count - 2 * window + 1 - next;
    const long windows = behind > 0 ? (behind + hop - 1) / hop : 0;
    std::fill(y, y + windows * window, 0.0);
    const long blocks = (window + WIDE - 1) / WIDE;
#pragma omp parallel for schedule(static) if (windows * window * window > 60000)
    for (long block = 0; block < blocks; ++block) {
      const long lag = block * WIDE;
      for (long m = 0; m < windows; ++m) {
        const double *from = fresh + (next + m * hop - now);
        for (long k = 0; k < window; k += DEEP) {
          const long length = std::min(DEEP, window - k);
          if (lag + WIDE <= window) {
            tile<true>(from + k, length, lag, y + m * window + lag);
          } else {
            tile<false>(from + k, length, lag, y + m * window + lag);
          }
        }
      }
    }
    next += windows * hop;
    line.drop(count);
    now += count;
  }
};
