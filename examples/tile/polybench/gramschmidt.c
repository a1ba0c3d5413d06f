#include <math.h>

/* A = Q R by the modified Gram-Schmidt method; A is overwritten. */
void gramschmidt(int m, int n, float A[restrict m][n], float R[restrict n][n], float Q[restrict m][n]) {
  float norm;
  for (int k = 0; k < n; k++) {
    norm = 0.0f;
    for (int i = 0; i < m; i++)
      norm += A[i][k] * A[i][k];
    R[k][k] = sqrtf(norm);
    for (int i = 0; i < m; i++)
      Q[i][k] = A[i][k] / R[k][k];
    for (int j = k + 1; j < n; j++) {
      R[k][j] = 0.0f;
      for (int i = 0; i < m; i++)
        R[k][j] += Q[i][k] * A[i][j];
      for (int i = 0; i < m; i++)
        A[i][j] = A[i][j] - Q[i][k] * R[k][j];
    }
  }
}
