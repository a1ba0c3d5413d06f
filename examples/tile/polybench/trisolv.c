/* L x = b with L lower triangular. */
void trisolv(int n, const float L[restrict n][n], float x[restrict n], const float b[restrict n]) {
  for (int i = 0; i < n; i++) {
    x[i] = b[i];
    for (int j = 0; j < i; j++)
      x[i] -= L[i][j] * x[j];
    x[i] = x[i] / L[i][i];
  }
}
