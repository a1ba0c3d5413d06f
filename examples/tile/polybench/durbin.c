/* Yule-Walker equations by the Levinson-Durbin recursion: T y = -r, T the Toeplitz matrix of 1, r[0], r[1] ... */
void durbin(int n, const float r[restrict n], float y[restrict n]) {
  float z[n];
  float alpha = -r[0];
  float beta = 1.0f;
  float sum;

  y[0] = -r[0];
  for (int k = 1; k < n; k++) {
    beta = (1.0f - alpha * alpha) * beta;
    sum = 0.0f;
    for (int i = 0; i < k; i++)
      sum += r[k - i - 1] * y[i];
    alpha = -(r[k] + sum) / beta;

    for (int i = 0; i < k; i++)
      z[i] = y[i] + alpha * y[k - i - 1];
    for (int i = 0; i < k; i++)
      y[i] = z[i];
    y[k] = alpha;
  }
}
