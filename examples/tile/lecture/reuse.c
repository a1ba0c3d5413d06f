/* A[j] has self-temporal reuse in i, self-spatial reuse in j, and group reuse with its neighbours in j. */
void reuse(int n, float A[n + 1]) {
  for (int i = 1; i < n; i++)
    for (int j = 1; j < n; j++)
      A[j] = A[j] + A[j + 1] + A[j - 1];
}
