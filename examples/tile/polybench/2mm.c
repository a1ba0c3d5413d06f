/* D = alpha A B C + beta D */
void two_matrix_products(int ni, int nj, int nk, int nl, float alpha, float beta, float tmp[restrict ni][nj],
                         const float A[restrict ni][nk], const float B[restrict nk][nj],
                         const float C[restrict nj][nl], float D[restrict ni][nl]) {
  for (int i = 0; i < ni; i++)
    for (int j = 0; j < nj; j++) {
      tmp[i][j] = 0.0f;
      for (int k = 0; k < nk; k++)
        tmp[i][j] += alpha * A[i][k] * B[k][j];
    }

  for (int i = 0; i < ni; i++)
    for (int j = 0; j < nl; j++) {
      D[i][j] *= beta;
      for (int k = 0; k < nj; k++)
        D[i][j] += tmp[i][k] * C[k][j];
    }
}
