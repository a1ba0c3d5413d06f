/* y = alpha A x + beta B x */
void gesummv(int n, float alpha, float beta, const float A[restrict n][n], const float B[restrict n][n],
             float tmp[restrict n], const float x[restrict n], float y[restrict n]) {
  for (int i = 0; i < n; i++) {
    tmp[i] = 0.0f;
    y[i] = 0.0f;
    for (int j = 0; j < n; j++) {
      tmp[i] = A[i][j] * x[j] + tmp[i];
      y[i] = B[i][j] * x[j] + y[i];
    }
    y[i] = alpha * tmp[i] + beta * y[i];
  }
}
