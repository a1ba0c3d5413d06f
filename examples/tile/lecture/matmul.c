/* P = M N, of any size. */
void matmul(int ni, int nj, int nk, float P[ni][nj], const float M[ni][nk], const float N[nk][nj]) {
  for (int i = 0; i < ni; i++)
    for (int j = 0; j < nj; j++) {
      P[i][j] = 0.0f;
      for (int k = 0; k < nk; k++)
        P[i][j] += M[i][k] * N[k][j];
    }
}
