/* B = alpha A^T B; A is lower triangular with ones on its diagonal, of which only what is below is read. */
void trmm(int m, int n, float alpha, const float A[restrict m][m], float B[restrict m][n]) {
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      for (int k = i + 1; k < m; k++)
        B[i][j] += A[k][i] * B[k][j];
      B[i][j] = alpha * B[i][j];
    }
}
