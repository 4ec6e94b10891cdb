"""C files that went wrong: kernels of which letters, words, lines or constructs are changed, with fixed
seeds."""

from __future__ import annotations

import random
import re

KERNELS = [
    """#include <math.h>
#define N 16
#define MAX(a, b) ((a) > (b) ? (a) : (b))
struct point { double x, y; int id; };
typedef float number;
enum { ONE = 1, TWO };
static const double w[3] = {0.25, 0.5, 0.25};

static int clip(int x, int low) {
  if (x < low) return low;
  return x;
}

void smooth(int n, double A[static const restrict n], double B[n], struct point p[n], number *f) {
  int i, k, count = 0;
#pragma scop
  for (i = 1; i < n - 1; i++) {
    B[i] = 0;
    for (k = 0; k < 3; k++)
      B[i] += w[k] * A[i + k - 1];
    if (B[i] > 1.5e-3 && i % 2 == 0) {
      count++;
      continue;
    }
    p[i].x = sqrt(fabs(B[i])) + MAX(i, TWO);
    p[i].id = clip(count, ONE) << 2;
    f[i] = (float)p[i].y / 3;
  }
#pragma endscop
}
""",
    """void gemm(int n, int m, int l, float alpha, float C[n][m], float A[n][l], float B[l][m]) {
#pragma scop
  int i, j, k;
S1:
  for (i = 0; i < n; ++i) {
    for (j = m - 1; j >= 0; j -= 1) {
      float sum = 0.0f;
#pragma pencil independent reduction(+: sum)
      for (k = 0; k < l; k += 2)
        sum += alpha * A[i][k] * B[k][j];
      C[i][j] = sum;
    }
  }
  switch (n) { case 1: C[0][0] = 1; break; default: C[0][0] = 2; }
  do { n = n - 1; } while (n > 0);
  __pencil_kill(i, j, k);
#pragma endscop
}
""",
    """#include <stdlib.h>
#include <stdint.h>
__attribute__((noinline)) int hash(int n, uint8_t *restrict t, const int16_t s[n]) {
#pragma scop
  unsigned int h = 2166136261u;
  int *copy = (int *)malloc(n * sizeof(int));
  for (int i = 0; i != n; i++) copy[i] = ~s[i];
  for (int i = n; i-- > 0;) {
    h = (h ^ (unsigned char)s[i]) * 16777619u;
    t[i] = h >> 24 | (i ? copy[i] & 15 : -1);
  }
  free(copy);
  while (h > 10) { h /= 3; if (h == 7) break; }
#pragma endscop
  return h % 100;
}
""",
]

WORDS = (
    "int double float unsigned char long struct union enum typedef const static restrict void if else for while do "
    "switch case default break continue return goto sizeof i j k n A B 0 1 -1 3.5 1e9 0x1F 'a' \"text\" ( ) [ ] { } ; "
    ", "
    "+ - * / % & | ^ ~ ! = == != < > <= >= << >> ++ -- += -= && || ? : . -> #pragma #define #include #if #endif "
    "__pencil_assume __attribute__ ... \\ \x00 é 99999999999999999999 08 &A *n long*long"
).split(" ")


def mutated(seed: int) -> str:
    """One of the kernels with one to three changes."""
    draw = random.Random(seed)
    text = draw.choice(KERNELS)
    for _ in range(draw.randint(1, 3)):
        text = _changed(draw, text)
    return text + "\n"


def _changed(draw: random.Random, text: str) -> str:
    if not text.strip():
        return text
    kind = draw.randrange(7)
    if kind == 0:  # a letter is lost, or another one
        at = draw.randrange(len(text))
        return text[:at] + draw.choice(["", chr(draw.randrange(32, 127))]) + text[at + 1 :]
    tokens = re.findall(r"\w+|\s+|[^\w\s]", text)
    at = draw.randrange(len(tokens))
    if kind == 1:  # another word
        tokens[at] = draw.choice(WORDS)
    elif kind == 2:  # a word more
        tokens.insert(at, f" {draw.choice(WORDS)} ")
    elif kind == 3:  # a word less
        del tokens[at]
    elif kind == 4:  # two words change places
        other = draw.randrange(len(tokens))
        tokens[at], tokens[other] = tokens[other], tokens[at]
    elif kind == 5:  # a line is lost, or stands twice
        lines = text.split("\n")
        line = draw.randrange(len(lines))
        lines[line : line + 1] = [] if draw.random() < 0.5 else [lines[line]] * 2
        return "\n".join(lines)
    else:  # the file ends
        return text[: draw.randrange(len(text))]
    return "".join(tokens)
