/* C = alpha A B + beta C; A is symmetric, of which the lower triangle is read. */
void symm(int m, int n, float alpha, float beta, float C[restrict m][n], const float A[restrict m][m],
          const float B[restrict m][n]) {
  float sum;
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      sum = 0.0f;
      for (int k = 0; k < i; k++) {
        C[k][j] += alpha * B[i][j] * A[i][k];
        sum += B[k][j] * A[i][k];
      }
      C[i][j] = beta * C[i][j] + alpha * B[i][j] * A[i][i] + alpha * sum;
    }
}
