/* Distance (1, -1): the loops may not be exchanged, nor tiled as they are; after the skew j' = j + i they may. */
void not_permutable(float A[4][6], const float B[6]) {
  for (int i = 0; i < 3; i++)
    for (int j = 1; j < 6; j++)
      A[i + 1][j - 1] = A[i][j] + B[j];
}
