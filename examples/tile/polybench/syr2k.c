/* The lower triangle of C = alpha (A B^T + B A^T) + beta C. */
void syr2k(int n, int m, float alpha, float beta, float C[restrict n][n], const float A[restrict n][m],
           const float B[restrict n][m]) {
  for (int i = 0; i < n; i++) {
    for (int j = 0; j <= i; j++)
      C[i][j] *= beta;
    for (int k = 0; k < m; k++)
      for (int j = 0; j <= i; j++)
        C[i][j] += A[j][k] * alpha * B[i][k] + B[j][k] * alpha * A[i][k];
  }
}
