#include <stdio.h>
#if defined(SINGLE) && SINGLE > 1 || !defined OTHER
#define TYPE float
#define CAT(x, y) x##y
#define LIT(x) CAT(x, f)
#else
#error "no type"
#endif
#define ARRAY(name, n, m) name[n + 0][m + 0]
#define LOOP(i, n, ...) \
  for (i = 0; i < n; i++) { __VA_ARGS__; }
static void set(int n, TYPE *a) { while (n) *a++ = 0; }
void kernel(int n, int m, TYPE ARRAY(A, n, m), TYPE (*B)[m]) {
  int i, j;
  TYPE t, z[n];
  set(n, &A[0][0]);
#pragma scop
  LOOP(i, n, t = LIT(0.5); LOOP(j, m, A[i][j] += B[i][j] * t, z[i] = -t))
#pragma endscop
  printf("%f\n", z[0]);
}
