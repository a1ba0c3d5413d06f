/* Distance (0, 1): the loops may be exchanged. Which order is better for row-major arrays? */
void permutable(float A[3][7], const float B[6]) {
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 6; j++)
      A[i][j + 1] = A[i][j] + B[j];
}
