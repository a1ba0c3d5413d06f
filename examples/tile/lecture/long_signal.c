/* Signal recognition with a signal that is longer than constant memory: its 80,000 bytes go there in two strips. */
void long_signal(float R[2][64], const float M[2][20000][64], const float v[20000]) {
  for (int t = 0; t < 2; t++)
    for (int i = 0; i < 64; i++) {
      R[t][i] = 0.0f;
      for (int j = 0; j < 20000; j++)
        R[t][i] += M[t][j][i] * v[j];
    }
}
