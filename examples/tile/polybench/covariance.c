/* The covariance matrix of m columns with n samples each; float_n is n as a number. */
void covariance(int m, int n, float float_n, float data[restrict n][m], float cov[restrict m][m],
                float mean[restrict m]) {
  for (int j = 0; j < m; j++) {
    mean[j] = 0.0f;
    for (int i = 0; i < n; i++)
      mean[j] += data[i][j];
    mean[j] /= float_n;
  }

  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      data[i][j] -= mean[j];

  for (int i = 0; i < m; i++)
    for (int j = i; j < m; j++) {
      cov[i][j] = 0.0f;
      for (int k = 0; k < n; k++)
        cov[i][j] += data[k][i] * data[k][j];
      cov[i][j] /= float_n - 1.0f;
      cov[j][i] = cov[i][j];
    }
}
