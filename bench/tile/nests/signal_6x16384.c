/* The same with a signal that fits constant memory. */
void signal_6x16384(float R[6][16384], const float M[6][16384][16384], const float v[16384]) {
  for (int t = 0; t < 6; t++)
    for (int i = 0; i < 16384; i++) {
      float sum = 0.0f;
      for (int j = 0; j < 16384; j++)
        sum += M[t][j][i] * v[j];
      R[t][i] = sum;
    }
}
