/* The tiling example: D[i] is used again in j, B[j][i] is contiguous in i. */
void column_sums(int m, int n, float D[n], const float B[m][n]) {
  for (int j = 1; j < m; j++)
    for (int i = 1; i < n; i++)
      D[i] = D[i] + B[j][i];
}
