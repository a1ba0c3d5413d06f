/* The heat equation in two dimensions by alternating directions implicitly: columns, then rows. */
void adi(int tsteps, int n, float u[restrict n][n], float v[restrict n][n], float p[restrict n][n],
         float q[restrict n][n]) {
  float dx, dy, dt, b1, b2, mul1, mul2, a, b, c, d, e, f;

  dx = 1.0f / (float)n;
  dy = 1.0f / (float)n;
  dt = 1.0f / (float)tsteps;
  b1 = 2.0f;
  b2 = 1.0f;
  mul1 = b1 * dt / (dx * dx);
  mul2 = b2 * dt / (dy * dy);
  a = -mul1 / 2.0f;
  b = 1.0f + mul1;
  c = a;
  d = -mul2 / 2.0f;
  e = 1.0f + mul2;
  f = d;

  for (int t = 1; t <= tsteps; t++) {
    for (int i = 1; i < n - 1; i++) {
      v[0][i] = 1.0f;
      p[i][0] = 0.0f;
      q[i][0] = v[0][i];
      for (int j = 1; j < n - 1; j++) {
        p[i][j] = -c / (a * p[i][j - 1] + b);
        q[i][j] = (-d * u[j][i - 1] + (1.0f + 2.0f * d) * u[j][i] - f * u[j][i + 1] - a * q[i][j - 1]) /
                  (a * p[i][j - 1] + b);
      }
      v[n - 1][i] = 1.0f;
      for (int j = n - 2; j >= 1; j--)
        v[j][i] = p[i][j] * v[j + 1][i] + q[i][j];
    }
    for (int i = 1; i < n - 1; i++) {
      u[i][0] = 1.0f;
      p[i][0] = 0.0f;
      q[i][0] = u[i][0];
      for (int j = 1; j < n - 1; j++) {
        p[i][j] = -f / (d * p[i][j - 1] + e);
        q[i][j] = (-a * v[i - 1][j] + (1.0f + 2.0f * a) * v[i][j] - c * v[i + 1][j] - d * q[i][j - 1]) /
                  (d * p[i][j - 1] + e);
      }
      u[i][n - 1] = 1.0f;
      for (int j = n - 2; j >= 1; j--)
        u[i][j] = p[i][j] * u[i][j + 1] + q[i][j];
    }
  }
}
