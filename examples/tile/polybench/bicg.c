/* s = A^T r; q = A p */
void bicg(int m, int n, const float A[restrict n][m], float s[restrict m], float q[restrict n],
          const float p[restrict m], const float r[restrict n]) {
  for (int i = 0; i < m; i++)
    s[i] = 0.0f;
  for (int i = 0; i < n; i++) {
    q[i] = 0.0f;
    for (int j = 0; j < m; j++) {
      s[j] = s[j] + r[i] * A[i][j];
      q[i] = q[i] + A[i][j] * p[j];
    }
  }
}
