// Wave equations in one and two dimensions, in three forms each (streams_paper.cpp says which).
#pragma once

#include "program.h"

#include <algorithm>

// ---- wave equations: u[n] of u[n - 1], u[n - 2] and neighbours; fixed ends ----

inline constexpr double BEFORE = -0.9, CENTRE_1D = 1.5, SIDE_1D = 0.19, CENTRE_2D = 1.1,
                        SIDE_2D = 0.19;

inline double string_point(double *__restrict to, const double *__restrict from, long i, double x) {
  return BEFORE * to[i] + CENTRE_1D * from[i] + SIDE_1D * (from[i - 1] + from[i + 1]) + x;
}

inline double membrane_point(double *__restrict to, const double *__restrict from, long row, long p,
                             double x) {
  return BEFORE * to[p] + CENTRE_2D * from[p] +
         SIDE_2D * (from[p - row] + from[p + row] + from[p - 1] + from[p + 1]) + x;
}

/// Tile (t, p) needs (t, p - 1), and of t - 1 those up to p + 1: it is in wave p + 2 t.
template <class Tile>
void in_waves(long high, long wide, const Tile &tile) {
  for (long wave = 0; wave < wide + 2 * (high - 1); ++wave) {
    const long first = std::max(0L, (wave - wide + 2) / 2), last = std::min(high - 1, wave / 2);
#pragma omp parallel for schedule(static) if (last > first)
    for (long t = first; t <= last; ++t) {
      tile(t, wave - 2 * t);
    }
  }
}

struct PlainWave1d : Program {
  long points, heard, now = 0;
  Reals u; // four rows: a power of two
  explicit PlainWave1d(long size)
      : points(size * size), heard(size / 2), u(size_t(4 * points), 0.0) {}
  void push(const double *x, long count, double *y) override {
    for (long n = 0; n < count; ++n, ++now) {
      double *next = &u[size_t((now & 3) * points)];
      const double *last = &u[size_t(((now + 3) & 3) * points)];
      const double *before = &u[size_t(((now + 2) & 3) * points)];
      for (long i = 1; i < points - 1; ++i) {
        next[i] =
            BEFORE * before[i] + CENTRE_1D * last[i] + SIDE_1D * (last[i - 1] + last[i + 1]) + x[n];
      }
      y[n] = next[heard];
    }
  }
};

struct HandWave1d : Program {
  long points, heard;
  Reals one, two;
  explicit HandWave1d(long size)
      : points(size * size), heard(size / 2), one(size_t(points), 0.0), two(size_t(points), 0.0) {}
  void push(const double *x, long count, double *y) override {
    for (long n = 0; n < count; ++n) {
      double *__restrict to = two.data();
      const double *__restrict from = one.data();
      const double value = x[n];
#pragma omp parallel for simd schedule(static) if (points > 60000)
      for (long i = 1; i < points - 1; ++i) {
        to[i] = string_point(to, from, i, value);
      }
      y[n] = to[heard];
      one.swap(two);
    }
  }
};

// Tiles along n and n + i, on a wavefront: those with the same sum of numbers do not need each
// other.
struct TiledWave1d : Program {
  static constexpr long HIGH = 32, WIDE = 2048; // the best of 512 to 4096 at all sizes
  long points, heard, now = 0;
  Reals rows[2];
  explicit TiledWave1d(long size)
      : points(size * size), heard(size / 2),
        rows{Reals(size_t(points), 0.0), Reals(size_t(points), 0.0)} {}
  void tile(long begin, long end, long place, const double *x, double *y) {
    for (long n = begin; n < end; ++n) {
      const long late = n - begin, parity = (now + n) & 1;
      double *__restrict to = rows[parity].data();
      const double *__restrict from = rows[1 - parity].data();
      const long low = std::max(1L, place * WIDE - late);
      const long high = std::min(points - 1, (place + 1) * WIDE - late);
      const double value = x[n];
#pragma omp simd
      for (long i = low; i < high; ++i) {
        to[i] = string_point(to, from, i, value);
      }
      if (low <= heard && heard < high) {
        y[n] = to[heard];
      }
    }
  }
  void push(const double *x, long count, double *y) override {
    const long high = (count + HIGH - 1) / HIGH, wide = (points + HIGH + WIDE - 1) / WIDE;
    in_waves(high, wide,
             [&](long t, long p) { tile(t * HIGH, std::min(count, (t + 1) * HIGH), p, x, y); });
    now += count;
  }
};

struct PlainWave2d : Program {
  long size, now = 0;
  Reals u;
  explicit PlainWave2d(long size) : size(size), u(size_t(4 * size * size), 0.0) {}
  void push(const double *x, long count, double *y) override {
    const long points = size * size;
    for (long n = 0; n < count; ++n, ++now) {
      double *next = &u[size_t((now & 3) * points)];
      const double *last = &u[size_t(((now + 3) & 3) * points)];
      const double *before = &u[size_t(((now + 2) & 3) * points)];
      for (long i = 1; i < size - 1; ++i) {
        for (long j = 1; j < size - 1; ++j) {
          const long p = i * size + j;
          next[p] = BEFORE * before[p] + CENTRE_2D * last[p] +
                    SIDE_2D * (last[p - size] + last[p + size] + last[p - 1] + last[p + 1]) + x[n];
        }
      }
      y[n] = next[size / 2 * size + size / 2];
    }
  }
};

struct HandWave2d : Program {
  long size;
  Reals one, two;
  explicit HandWave2d(long size)
      : size(size), one(size_t(size * size), 0.0), two(size_t(size * size), 0.0) {}
  void push(const double *x, long count, double *y) override {
    for (long n = 0; n < count; ++n) {
      double *__restrict to = two.data();
      const double *__restrict from = one.data();
      const double value = x[n];
#pragma omp parallel for schedule(static) if (size * size > 60000)
      for (long i = 1; i < size - 1; ++i) {
#pragma omp simd
        for (long j = 1; j < size - 1; ++j) {
          to[i * size + j] = membrane_point(to, from, size, i * size + j, value);
        }
      }
      y[n] = to[size / 2 * size + size / 2];
      one.swap(two);
    }
  }
};

// Tiles along n and n + i, on a wavefront; rows of the grid stay whole.
struct TiledWave2d : Program {
  long size, high, wide, now = 0; // 8 x 8 is best for small grids, 32 x 32 for large ones

  Reals rows[2];
  explicit TiledWave2d(long size)
      : size(size), high(size < 500 ? 8 : 32), wide(high),
        rows{Reals(size_t(size * size), 0.0), Reals(size_t(size * size), 0.0)} {}
  void tile(long begin, long end, long place, const double *x, double *y) {
    for (long n = begin; n < end; ++n) {
      const long late = n - begin, parity = (now + n) & 1;
      double *__restrict to = rows[parity].data();
      const double *__restrict from = rows[1 - parity].data();
      const long low = std::max(1L, place * wide - late);
      const long last = std::min(size - 1, (place + 1) * wide - late);
      const double value = x[n];
      for (long i = low; i < last; ++i) {
#pragma omp simd
        for (long j = 1; j < size - 1; ++j) {
          to[i * size + j] = membrane_point(to, from, size, i * size + j, value);
        }
      }
      if (low <= size / 2 && size / 2 < last) {
        y[n] = to[size / 2 * size + size / 2];
      }
    }
  }
  void push(const double *x, long count, double *y) override {
    const long tall = (count + high - 1) / high, across = (size + high + wide - 1) / wide;
    in_waves(tall, across,
             [&](long t, long p) { tile(t * high, std::min(count, (t + 1) * high), p, x, y); });
    now += count;
  }
};
