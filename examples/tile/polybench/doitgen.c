/* Every row A[r][q] times the matrix C4. */
void doitgen(int nr, int nq, int np, float A[restrict nr][nq][np], const float C4[restrict np][np],
             float sum[restrict np]) {
  for (int r = 0; r < nr; r++)
    for (int q = 0; q < nq; q++) {
      for (int p = 0; p < np; p++) {
        sum[p] = 0.0f;
        for (int s = 0; s < np; s++)
          sum[p] += A[r][q][s] * C4[s][p];
      }
      for (int p = 0; p < np; p++)
        A[r][q][p] = sum[p];
    }
}
