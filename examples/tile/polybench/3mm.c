/* G = (A B) (C D) */
void three_matrix_products(int ni, int nj, int nk, int nl, int nm, float E[restrict ni][nj],
                           const float A[restrict ni][nk], const float B[restrict nk][nj], float F[restrict nj][nl],
                           const float C[restrict nj][nm], const float D[restrict nm][nl],
                           float G[restrict ni][nl]) {
  for (int i = 0; i < ni; i++)
    for (int j = 0; j < nj; j++) {
      E[i][j] = 0.0f;
      for (int k = 0; k < nk; k++)
        E[i][j] += A[i][k] * B[k][j];
    }

  for (int i = 0; i < nj; i++)
    for (int j = 0; j < nl; j++) {
      F[i][j] = 0.0f;
      for (int k = 0; k < nm; k++)
        F[i][j] += C[i][k] * D[k][j];
    }

  for (int i = 0; i < ni; i++)
    for (int j = 0; j < nl; j++) {
      G[i][j] = 0.0f;
      for (int k = 0; k < nj; k++)
        G[i][j] += E[i][k] * F[k][j];
    }
}
