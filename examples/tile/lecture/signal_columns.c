/* Signal recognition with the transforms stored transposed: neighbouring threads read neighbouring elements. A signal of
   known length goes to constant memory where that is faster, in strips if it is longer than 64 KB. */
void signal_columns(int n, int length, int m, float R[n][m], const float M[n][length][m], const float v[length]) {
  for (int t = 0; t < n; t++)
    for (int i = 0; i < m; i++) {
      float sum = 0.0f;
      for (int j = 0; j < length; j++)
        sum += M[t][j][i] * v[j];
      R[t][i] = sum;
    }
}
