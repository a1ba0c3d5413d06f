/* x1 += A y1; x2 += A^T y2 */
void mvt(int n, float x1[restrict n], float x2[restrict n], const float y1[restrict n], const float y2[restrict n],
         const float A[restrict n][n]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      x1[i] = x1[i] + A[i][j] * y1[j];

  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      x2[i] = x2[i] + A[j][i] * y2[j];
}
