#define MIN(a,b) ((a)<(b)?(a):(b))
typedef double real;
enum { W = 4 };
static const int K = 3;
const float half = 0.5f;
float G[10][W];
struct point { int x, y; };
int helper(int a) { return a + 1; }
void proto(float *a, int n);
void f(int n, int m, const float A[restrict n][m], float (*B)[m], float *x, real alpha, int unused, char *name)
{
  int i, j;
  float t = 0, u = 1.5;
  for (i = 0; i < MIN(n, m); i += K) {
    int k2 = i + 1;
    float s = 0.0f;
    for (j = n - 1; j >= 0; --j) {
      s += A[i][j] * half;
      x[k2] = s, B[i][j]--;
    }
    for (int n = 0; n < 3; n++) x[n] = alpha * u;
    { float s = 2; s += 1; x[i] = s; }
  }
  for (i = 0; i < 10 && i < n; i = i + 1) if (i > 2) G[i][0] = i; else { if (i == 0) G[i][1] = 2; }
  while (t < 3) { t += 1; }
  for (i = 0; i < n; i++) { if (x[i] > 0) x[i] = 0; break; }
  for (i = 0; i != n; i++) x[i] = 0;
  for (i = 0; i < n; i++) { i = 3; *x = 2; x = 0; helper(3); t = x[(int)x[i]]; name[0] = 'a'; x[i] = i << 2; goto end; }
  do { t = 1; } while (t < 2);
  switch (n) { case 1: t = 2; }
  for (i = 0; i < n; i += m) t = 3;
  for (i = 0; i < n; i -= 1) t = 3;
  for (i = 0; i < n; i += 0) t = 3;
  float w[2][2] = {{1, 2}, {3}};
  x[0] = "abc"; x[i] = 2; printf("hi"); t = pt.x;
end:
  return;
}
