/* signal_columns.c of the lecture's set with sizes that are known: the signal has 120,000 bytes. */
void signal_2x30000(float R[2][30000], const float M[2][30000][30000], const float v[30000]) {
  for (int t = 0; t < 2; t++)
    for (int i = 0; i < 30000; i++) {
      float sum = 0.0f;
      for (int j = 0; j < 30000; j++)
        sum += M[t][j][i] * v[j];
      R[t][i] = sum;
    }
}
