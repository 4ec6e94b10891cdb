// Streams as C++ programmers write them by hand: a state, and a function that takes a block.
//
// Each `run_` pushes a signal block by block, as an audio system would, from a state that begins with zeros. The loops
// are what one writes for -O3 -march=native -ffast-math: history and block in one buffer where taps are many, so that the
// inner loops are contiguous; circular buffers for delays; sections of a cascade one after the other.

#include <algorithm>
#include <cstring>
#include <vector>

namespace {

struct Delay {
  std::vector<float> line;
  size_t place = 0;
  explicit Delay(long length) : line(size_t(length), 0.0f) {}
  float get() const { return line[place]; }
  void put(float value) {
    line[place] = value;
    if (++place == line.size()) {
      place = 0;
    }
  }
};

struct Fir {
  std::vector<float> taps, buffer;
  Fir(const float *h, long length, long block)
      : taps(h, h + length), buffer(size_t(length - 1 + block), 0.0f) {}

  void push(const float *__restrict x, long length, float *__restrict y) {
    const long past = long(taps.size()) - 1;
    float *line = buffer.data();
    std::memcpy(line + past, x, size_t(length) * sizeof(float));
    for (long n = 0; n < length; ++n) {
      y[n] = 0.0f;
    }
    for (long r = 0; r <= past; ++r) {
      const float tap = taps[size_t(r)];
      const float *from = line + past - r;
      for (long n = 0; n < length; ++n) {
        y[n] += tap * from[n];
      }
    }
    std::memmove(line, line + length, size_t(past) * sizeof(float));
  }
};

} // namespace

extern "C" {

void run_fir(const float *x, float *y, long length, long block, const float *h, long taps) {
  Fir fir(h, taps, block);
  for (long n = 0; n < length; n += block) {
    fir.push(x + n, std::min(block, length - n), y + n);
  }
}

void run_filter_bank(const float *x, float *y, long length, long block, const float *h, long taps,
                     long bands) {
  const long past = taps - 1;
  std::vector<float> buffer(size_t(past + block), 0.0f), turned(size_t(taps * bands));
  for (long k = 0; k < bands; ++k) {
    for (long r = 0; r < taps; ++r) {
      turned[size_t(r * bands + k)] = h[k * taps + r];
    }
  }
  for (long n = 0; n < length; n += block) {
    const long count = std::min(block, length - n);
    std::memcpy(buffer.data() + past, x + n, size_t(count) * sizeof(float));
    for (long i = 0; i < count; ++i) {
      float *__restrict out = y + (n + i) * bands;
      for (long k = 0; k < bands; ++k) {
        out[k] = 0.0f;
      }
      for (long r = 0; r < taps; ++r) {
        const float value = buffer[size_t(past + i - r)];
        const float *row = turned.data() + r * bands;
        for (long k = 0; k < bands; ++k) {
          out[k] += row[k] * value;
        }
      }
    }
    std::memmove(buffer.data(), buffer.data() + count, size_t(past) * sizeof(float));
  }
}

// Second-order sections in transposed direct form II, all channels of an element beside each other.
void run_biquads(const float *x, float *y, long length, long block, const float *sos, long sections,
                 long channels) {
  std::vector<float> one(size_t(sections * channels), 0.0f), two(size_t(sections * channels), 0.0f);
  for (long n = 0; n < length; n += block) {
    const long count = std::min(block, length - n);
    std::memcpy(y + n * channels, x + n * channels, size_t(count * channels) * sizeof(float));
    for (long s = 0; s < sections; ++s) {
      const float *c = sos + 6 * s;
      float *__restrict z1 = one.data() + s * channels;
      float *__restrict z2 = two.data() + s * channels;
      for (long i = 0; i < count; ++i) {
        float *__restrict row = y + (n + i) * channels;
        for (long k = 0; k < channels; ++k) {
          const float in = row[k], out = c[0] * in + z1[k];
          z1[k] = c[1] * in - c[4] * out + z2[k];
          z2[k] = c[2] * in - c[5] * out;
          row[k] = out;
        }
      }
    }
  }
}

void run_resampler(const float *x, float *y, long length, long block, const float *h, long taps,
                   long up, long down) {
  const long most = (taps + up - 1) / up, past = most - 1;
  std::vector<float> buffer(size_t(past + block), 0.0f), phases(size_t(up * most), 0.0f);
  for (long p = 0; p < up; ++p) {
    for (long r = 0; r < most && p + up * r < taps; ++r) {
      phases[size_t(p * most + most - 1 - r)] = h[p + up * r]; // turned around: both run forward
    }
  }
  long m = 0;
  for (long n = 0; n < length; n += block) {
    const long count = std::min(block, length - n);
    std::memcpy(buffer.data() + past, x + n, size_t(count) * sizeof(float));
    for (; down * m / up < n + count; ++m) {
      const float *row = phases.data() + down * m % up * most;
      const float *from = buffer.data() + (down * m / up - n);
      float sum = 0.0f;
      for (long r = 0; r < most; ++r) {
        sum += row[r] * from[r];
      }
      y[m] = sum;
    }
    std::memmove(buffer.data(), buffer.data() + count, size_t(past) * sizeof(float));
  }
}

void run_plucked_string(const float *x, float *y, long length, long block, float gain, long delay) {
  Delay line(delay);
  float before = 0.0f;
  for (long n = 0; n < length; n += block) {
    const long end = std::min(n + block, length);
    for (long i = n; i < end; ++i) {
      const float late = line.get();
      y[i] = x[i] + 0.5f * gain * (late + before);
      before = late;
      line.put(y[i]);
    }
  }
}

void run_reverb(const float *x, float *y, long length, long block, const float *gain,
                const long *combs, long number, float diffusion, const long *allpasses, long last) {
  std::vector<Delay> comb, in, out;
  for (long k = 0; k < number; ++k) {
    comb.emplace_back(combs[k]);
  }
  for (long k = 0; k < last; ++k) {
    in.emplace_back(allpasses[k]);
    out.emplace_back(allpasses[k]);
  }
  for (long n = 0; n < length; n += block) {
    const long end = std::min(n + block, length);
    for (long i = n; i < end; ++i) {
      float total = 0.0f;
      for (long k = 0; k < number; ++k) {
        const float value = x[i] + gain[k] * comb[size_t(k)].get();
        comb[size_t(k)].put(value);
        total += value;
      }
      float value = total / float(number);
      for (long k = 0; k < last; ++k) {
        Delay &before = in[size_t(k)], &after = out[size_t(k)];
        const float passed = before.get() + diffusion * (after.get() - value);
        before.put(value);
        after.put(passed);
        value = passed;
      }
      y[i] = value;
    }
  }
}

} // extern "C"
