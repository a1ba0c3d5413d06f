/* A += u1 v1^T + u2 v2^T; x = beta A^T y + z; w = alpha A x */
void gemver(int n, float alpha, float beta, float A[restrict n][n], const float u1[restrict n],
            const float v1[restrict n], const float u2[restrict n], const float v2[restrict n], float w[restrict n],
            float x[restrict n], const float y[restrict n], const float z[restrict n]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      A[i][j] = A[i][j] + u1[i] * v1[j] + u2[i] * v2[j];

  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      x[i] = x[i] + beta * A[j][i] * y[j];

  for (int i = 0; i < n; i++)
    x[i] = x[i] + z[i];

  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      w[i] = w[i] + alpha * A[i][j] * x[j];
}
