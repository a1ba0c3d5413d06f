/* Signal recognition: one input signal against n precomputed m x m transforms. All threads of a warp read the same
   element of the signal: it belongs into constant memory while it fits there. */
void signal(int n, int m, float R[n][m], const float M[n][m][m], const float v[m]) {
  for (int t = 0; t < n; t++)
    for (int i = 0; i < m; i++) {
      R[t][i] = 0.0f;
      for (int j = 0; j < m; j++)
        R[t][i] += M[t][i][j] * v[j];
    }
}
