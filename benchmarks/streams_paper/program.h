// What the programs of streams_paper.cpp have in common: a push, and history.
#pragma once

#include <cstring>
#include <vector>

using Reals = std::vector<double>;

inline long power_of_two(long least) {
  long size = 1;
  while (size < least) {
    size *= 2;
  }
  return size;
}

struct Program {
  virtual ~Program() = default;
  virtual void push(const double *x, long count, double *y) = 0;
};

// Rows of `width` elements, the last `past` of which stay in front of the new ones.
struct History {
  long past, width, room;
  Reals rows;
  History(long past, long width, long room)
      : past(past), width(width), room(room), rows(size_t((past + room) * width), 0.0) {}
  double *append(const double *x, long count) {
    double *fresh = rows.data() + past * width;
    std::memcpy(fresh, x, size_t(count * width) * sizeof(double));
    return fresh;
  }
  void drop(long count) {
    std::memmove(rows.data(), rows.data() + count * width, size_t(past * width) * sizeof(double));
  }
};
