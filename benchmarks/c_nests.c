/* Nests as they are written in C: each iteration keeps values of its own in scalars and small arrays.
   Read by tw.c.load and compiled by gcc and clang (topics/c_nests.py). */
#include <math.h>

#define EXCHANGE(a, b) if (p[a] > p[b]) { unsigned char t = p[a]; p[a] = p[b]; p[b] = t; }

/* The median of 3 x 3 pixels by a network of exchanges. */
void median(int h, int w, const unsigned char in[restrict h][w], unsigned char out[restrict h][w]) {
#pragma scop
  for (int i = 1; i < h - 1; i++)
    for (int j = 1; j < w - 1; j++) {
      unsigned char p[9];
      for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
          p[3 * a + b] = in[i + a - 1][j + b - 1];
      EXCHANGE(1, 2) EXCHANGE(4, 5) EXCHANGE(7, 8) EXCHANGE(0, 1) EXCHANGE(3, 4)
      EXCHANGE(6, 7) EXCHANGE(1, 2) EXCHANGE(4, 5) EXCHANGE(7, 8) EXCHANGE(0, 3)
      EXCHANGE(5, 8) EXCHANGE(4, 7) EXCHANGE(3, 6) EXCHANGE(1, 4) EXCHANGE(2, 5)
      EXCHANGE(4, 7) EXCHANGE(4, 2) EXCHANGE(6, 4) EXCHANGE(4, 2)
      out[i][j] = p[4];
    }
#pragma endscop
}

void sobel(int h, int w, const unsigned char in[restrict h][w], unsigned char out[restrict h][w]) {
#pragma scop
  for (int i = 1; i < h - 1; i++)
    for (int j = 1; j < w - 1; j++) {
      int x = in[i-1][j+1] + 2 * in[i][j+1] + in[i+1][j+1]
            - in[i-1][j-1] - 2 * in[i][j-1] - in[i+1][j-1];
      int y = in[i+1][j-1] + 2 * in[i+1][j] + in[i+1][j+1]
            - in[i-1][j-1] - 2 * in[i-1][j] - in[i-1][j+1];
      if (x < 0) x = -x;
      if (y < 0) y = -y;
      int s = x + y;
      if (s > 255) s = 255;
      out[i][j] = s;
    }
#pragma endscop
}

void life(int h, int w, const unsigned char a[restrict h][w], unsigned char b[restrict h][w]) {
#pragma scop
  for (int i = 1; i < h - 1; i++)
    for (int j = 1; j < w - 1; j++) {
      int n = 0;
      for (int u = -1; u <= 1; u++)
        for (int v = -1; v <= 1; v++)
          if (u != 0 || v != 0)
            n += a[i + u][j + v];
      if (n == 3) b[i][j] = 1;
      else if (n == 2) b[i][j] = a[i][j];
      else b[i][j] = 0;
    }
#pragma endscop
}

void bilateral(int h, int w, float s, const float in[restrict h][w], float out[restrict h][w]) {
#pragma scop
  for (int i = 2; i < h - 2; i++)
    for (int j = 2; j < w - 2; j++) {
      float sum = 0, weights = 0;
      for (int a = -2; a <= 2; a++)
        for (int b = -2; b <= 2; b++) {
          float d = in[i + a][j + b] - in[i][j];
          float g = 1.0f / (1.0f + s * d * d);
          sum += g * in[i + a][j + b];
          weights += g;
        }
      out[i][j] = sum / weights;
    }
#pragma endscop
}

/* Blocks of 8 x 8 pixels times a matrix from both sides. */
void dct(int h, int w, const float in[restrict 8 * h][8 * w], const float c[restrict 8][8],
         float out[restrict 8 * h][8 * w]) {
#pragma scop
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++) {
      float t[8][8];
      for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) {
          float s = 0;
          for (int k = 0; k < 8; k++)
            s += c[i][k] * in[8 * y + k][8 * x + j];
          t[i][j] = s;
        }
      for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) {
          float s = 0;
          for (int k = 0; k < 8; k++)
            s += t[i][k] * c[j][k];
          out[8 * y + i][8 * x + j] = s;
        }
    }
#pragma endscop
}

/* A separable filter with a row in between. */
void blur(int h, int w, const float k[restrict 5], const float in[restrict h][w],
          float out[restrict h][w]) {
#pragma scop
  for (int i = 2; i < h - 2; i++) {
    float row[w];
    for (int j = 0; j < w; j++) {
      row[j] = 0;
      for (int a = 0; a < 5; a++)
        row[j] += k[a] * in[i + a - 2][j];
    }
    for (int j = 2; j < w - 2; j++) {
      float s = 0;
      for (int a = 0; a < 5; a++)
        s += k[a] * row[j + a - 2];
      out[i][j] = s;
    }
  }
#pragma endscop
}

void bodies(int n, const float x[restrict n][3], const float m[restrict n], float acc[restrict n][3]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    float ax = 0, ay = 0, az = 0;
    for (int j = 0; j < n; j++) {
      float dx = x[j][0] - x[i][0], dy = x[j][1] - x[i][1], dz = x[j][2] - x[i][2];
      float inv = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz + 1e-3f);
      float f = m[j] * inv * inv * inv;
      ax += f * dx;
      ay += f * dy;
      az += f * dz;
    }
    acc[i][0] = ax;
    acc[i][1] = ay;
    acc[i][2] = az;
  }
#pragma endscop
}

void layer(int n, int m, int o, const float x[restrict n][m], const float w[restrict m][o],
           const float bias[restrict o], float y[restrict n][o]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < o; j++) {
      float s = bias[j];
      for (int k = 0; k < m; k++)
        s += x[i][k] * w[k][j];
      y[i][j] = s > 0 ? s : 0;
    }
#pragma endscop
}

/* The same with weights by rows, as they are often kept. */
void rows(int n, int m, int o, const float x[restrict n][m], const float w[restrict o][m],
          const float bias[restrict o], float y[restrict n][o]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < o; j++) {
      float s = bias[j];
      for (int k = 0; k < m; k++)
        s += x[i][k] * w[j][k];
      y[i][j] = s > 0 ? s : 0;
    }
#pragma endscop
}

void convolution(int h, int w, int c, int o, const float x[restrict c][h + 2][w + 2],
                 const float k[restrict o][c][3][3], float y[restrict o][h][w]) {
#pragma scop
  for (int q = 0; q < o; q++)
    for (int i = 0; i < h; i++)
      for (int j = 0; j < w; j++) {
        float s = 0;
        for (int p = 0; p < c; p++)
          for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++)
              s += x[p][i + a][j + b] * k[q][p][a][b];
        y[q][i][j] = s > 0 ? s : 0;
      }
#pragma endscop
}

void depthwise(int h, int w, int c, const signed char x[restrict h + 2][w + 2][c],
               const signed char k[restrict 3][3][c], const int bias[restrict c],
               signed char y[restrict h][w][c]) {
#pragma scop
  for (int i = 0; i < h; i++)
    for (int j = 0; j < w; j++)
      for (int q = 0; q < c; q++) {
        int s = bias[q];
        for (int a = 0; a < 3; a++)
          for (int b = 0; b < 3; b++)
            s += x[i + a][j + b][q] * k[a][b][q];
        s = (s + 64) >> 7;
        if (s > 127) s = 127;
        if (s < -128) s = -128;
        y[i][j][q] = s;
      }
#pragma endscop
}

void yuv(int n, const unsigned char rgb[restrict n][3], unsigned char yuv[restrict n][3]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    int r = rgb[i][0], g = rgb[i][1], b = rgb[i][2];
    yuv[i][0] = ((66 * r + 129 * g + 25 * b + 128) >> 8) + 16;
    yuv[i][1] = ((-38 * r - 74 * g + 112 * b + 128) >> 8) + 128;
    yuv[i][2] = ((112 * r - 94 * g - 18 * b + 128) >> 8) + 128;
  }
#pragma endscop
}

void distance(int n, int m, const unsigned char a[restrict n], const unsigned char b[restrict m],
              int d[restrict n + 1][m + 1]) {
#pragma scop
  for (int i = 0; i <= n; i++) d[i][0] = i;
  for (int j = 0; j <= m; j++) d[0][j] = j;
  for (int i = 1; i <= n; i++)
    for (int j = 1; j <= m; j++) {
      int best = d[i-1][j-1] + (a[i-1] == b[j-1] ? 0 : 1);
      if (d[i-1][j] + 1 < best) best = d[i-1][j] + 1;
      if (d[i][j-1] + 1 < best) best = d[i][j-1] + 1;
      d[i][j] = best;
    }
#pragma endscop
}

void dither(int h, int w, int a[restrict h][w], unsigned char out[restrict h][w]) {
#pragma scop
  for (int i = 0; i < h - 1; i++)
    for (int j = 1; j < w - 1; j++) {
      int old = a[i][j];
      int value = old < 128 ? 0 : 255;
      int error = old - value;
      out[i][j] = value;
      a[i][j+1] += error * 7 / 16;
      a[i+1][j-1] += error * 3 / 16;
      a[i+1][j] += error * 5 / 16;
      a[i+1][j+1] += error / 16;
    }
#pragma endscop
}
