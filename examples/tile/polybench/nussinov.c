/* Nussinov's RNA folding: the most pairs of bases (0 .. 3, which pair if their sum is 3) in any part of the sequence. */
#define PAIR(a, b) ((a) + (b) == 3 ? 1 : 0)
#define GREATER(a, b) ((a) >= (b) ? (a) : (b))

void nussinov(int n, const int seq[restrict n], int table[restrict n][n]) {
  for (int i = n - 1; i >= 0; i--)
    for (int j = i + 1; j < n; j++) {
      if (j - 1 >= 0)
        table[i][j] = GREATER(table[i][j], table[i][j - 1]);
      if (i + 1 < n)
        table[i][j] = GREATER(table[i][j], table[i + 1][j]);
      if (j - 1 >= 0 && i + 1 < n) {
        if (i < j - 1) /* neighbours do not pair */
          table[i][j] = GREATER(table[i][j], table[i + 1][j - 1] + PAIR(seq[i], seq[j]));
        else
          table[i][j] = GREATER(table[i][j], table[i + 1][j - 1]);
      }
      for (int k = i + 1; k < j; k++)
        table[i][j] = GREATER(table[i][j], table[i][k] + table[k + 1][j]);
    }
}
