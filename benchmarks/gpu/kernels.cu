// The kernels in CUDA C, mapped as PPCG maps them by default: tiles of 32 in all loops, the tile of
// a product's operands in shared memory, blocks of 32 x 8 threads whose threads stride over a tile,
// no register tiles.  Compiled by nvcc or NVRTC where one is found, and launched by the driver.

typedef long long extent;

extern "C" __global__ void copy(const float *a, float *c, extent n) {
  extent i = (extent)blockIdx.x * 256 + threadIdx.x;
  if (i < n) c[i] = a[i];
}

extern "C" __global__ void blur(const float *a, float *c, extent n, extent m) {
  extent i0 = (extent)blockIdx.y * 32, j = (extent)blockIdx.x * 32 + threadIdx.x, w = m + 2;
  if (j >= m) return;
  for (extent i = i0 + threadIdx.y; i < i0 + 32 && i < n; i += 8) {
    const float *p = a + i * w + j;
    c[i * m + j] = (p[0] + p[1] + p[2] + p[w] + p[w + 1] + p[w + 2] + p[2 * w] + p[2 * w + 1] +
                    p[2 * w + 2]) * (1.0f / 9);
  }
}

extern "C" __global__ void heat_2d(const float *a, float *b, extent n, extent m) {
  extent i0 = (extent)blockIdx.y * 32, j = (extent)blockIdx.x * 32 + threadIdx.x;
  if (j < 1 || j >= m - 1) return;
  for (extent i = i0 + threadIdx.y; i < i0 + 32 && i < n - 1; i += 8) {
    if (i < 1) continue;
    const float *p = a + i * m + j;
    b[i * m + j] = p[0] + 0.1f * (p[-m] + p[m] + p[-1] + p[1] - 4 * p[0]);
  }
}

extern "C" __global__ void heat_3d(const float *a, float *b, extent n) {
  extent i0 = (extent)blockIdx.z * 4, j0 = (extent)blockIdx.y * 8;
  extent j = j0 + threadIdx.y, k = (extent)blockIdx.x * 32 + threadIdx.x, plane = n * n;
  if (j < 1 || j >= n - 1 || k < 1 || k >= n - 1) return;
  for (extent i = i0; i < i0 + 4 && i < n - 1; i++) {
    if (i < 1) continue;
    const float *p = a + i * plane + j * n + k;
    b[i * plane + j * n + k] =
        p[0] + 0.1f * (p[-plane] + p[plane] + p[-n] + p[n] + p[-1] + p[1] - 6 * p[0]);
  }
}

extern "C" __global__ void softmax(const float *a, float *y, extent m) {
  __shared__ float part[256];
  const float *row = a + blockIdx.x * m;
  int t = threadIdx.x;
  float top = __int_as_float(0xff800000);
  for (extent j = t; j < m; j += 256) top = fmaxf(top, row[j]);
  part[t] = top;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (t < half) part[t] = fmaxf(part[t], part[t + half]);
    __syncthreads();
  }
  top = part[0];
  __syncthreads();
  float total = 0;
  for (extent j = t; j < m; j += 256) total += __expf(row[j] - top);
  part[t] = total;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (t < half) part[t] += part[t + half];
    __syncthreads();
  }
  total = part[0];
  for (extent j = t; j < m; j += 256) y[blockIdx.x * m + j] = __expf(row[j] - top) / total;
}

extern "C" __global__ void sgemm(const float *a, const float *b, float *c, extent n, extent m,
                                 extent depth) {
  __shared__ float as[32][32], bs[32][32];
  extent i0 = (extent)blockIdx.y * 32, j = (extent)blockIdx.x * 32 + threadIdx.x;
  int x = threadIdx.x, y = threadIdx.y;
  float sums[4] = {0, 0, 0, 0};
  for (extent k0 = 0; k0 < depth; k0 += 32) {
    for (int r = 0; r < 4; r++) {
      extent i = i0 + y + 8 * r, k = k0 + y + 8 * r;
      as[y + 8 * r][x] = i < n && k0 + x < depth ? a[i * depth + k0 + x] : 0;
      bs[y + 8 * r][x] = k < depth && j < m ? b[k * m + j] : 0;
    }
    __syncthreads();
    for (int k = 0; k < 32; k++)
      for (int r = 0; r < 4; r++) sums[r] += as[y + 8 * r][k] * bs[k][x];
    __syncthreads();
  }
  for (int r = 0; r < 4; r++)
    if (i0 + y + 8 * r < n && j < m) c[(i0 + y + 8 * r) * m + j] = sums[r];
}

extern "C" __global__ void batched_gemm(const float *a, const float *b, float *c) {
  __shared__ float as[32][32], bs[32][32];
  extent at = (extent)blockIdx.x * 1024;
  int x = threadIdx.x, y = threadIdx.y;
  for (int r = 0; r < 32; r += 8) {
    as[y + r][x] = a[at + (y + r) * 32 + x];
    bs[y + r][x] = b[at + (y + r) * 32 + x];
  }
  __syncthreads();
  for (int r = 0; r < 32; r += 8) {
    float sum = 0;
    for (int k = 0; k < 32; k++) sum += as[y + r][k] * bs[k][x];
    c[at + (y + r) * 32 + x] = sum;
  }
}
