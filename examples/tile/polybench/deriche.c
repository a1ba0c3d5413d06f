#include <math.h>

/* Deriche's recursive smoothing filter: forwards and backwards along the rows, then along the columns. */
void deriche(int w, int h, float alpha, const float in[restrict w][h], float out[restrict w][h],
             float y1[restrict w][h], float y2[restrict w][h]) {
  float k, a1, a2, a3, a4, a5, a6, a7, a8, b1, b2, c1, c2;
  float before_1, y_before_1, y_before_2;
  float after_1, after_2, y_after_1, y_after_2;

  k = (1.0f - expf(-alpha)) * (1.0f - expf(-alpha)) / (1.0f + 2.0f * alpha * expf(-alpha) - expf(2.0f * alpha));
  a1 = a5 = k;
  a2 = a6 = k * expf(-alpha) * (alpha - 1.0f);
  a3 = a7 = k * expf(-alpha) * (alpha + 1.0f);
  a4 = a8 = -k * expf(-2.0f * alpha);
  b1 = powf(2.0f, -alpha);
  b2 = -expf(-2.0f * alpha);
  c1 = c2 = 1;

  for (int i = 0; i < w; i++) {
    before_1 = y_before_1 = y_before_2 = 0.0f;
    for (int j = 0; j < h; j++) {
      y1[i][j] = a1 * in[i][j] + a2 * before_1 + b1 * y_before_1 + b2 * y_before_2;
      before_1 = in[i][j];
      y_before_2 = y_before_1;
      y_before_1 = y1[i][j];
    }
  }
  for (int i = 0; i < w; i++) {
    after_1 = after_2 = y_after_1 = y_after_2 = 0.0f;
    for (int j = h - 1; j >= 0; j--) {
      y2[i][j] = a3 * after_1 + a4 * after_2 + b1 * y_after_1 + b2 * y_after_2;
      after_2 = after_1;
      after_1 = in[i][j];
      y_after_2 = y_after_1;
      y_after_1 = y2[i][j];
    }
  }
  for (int i = 0; i < w; i++)
    for (int j = 0; j < h; j++)
      out[i][j] = c1 * (y1[i][j] + y2[i][j]);

  for (int j = 0; j < h; j++) {
    before_1 = y_before_1 = y_before_2 = 0.0f;
    for (int i = 0; i < w; i++) {
      y1[i][j] = a5 * out[i][j] + a6 * before_1 + b1 * y_before_1 + b2 * y_before_2;
      before_1 = out[i][j];
      y_before_2 = y_before_1;
      y_before_1 = y1[i][j];
    }
  }
  for (int j = 0; j < h; j++) {
    after_1 = after_2 = y_after_1 = y_after_2 = 0.0f;
    for (int i = w - 1; i >= 0; i--) {
      y2[i][j] = a7 * after_1 + a8 * after_2 + b1 * y_after_1 + b2 * y_after_2;
      after_2 = after_1;
      after_1 = out[i][j];
      y_after_2 = y_after_1;
      y_after_1 = y2[i][j];
    }
  }
  for (int i = 0; i < w; i++)
    for (int j = 0; j < h; j++)
      out[i][j] = c2 * (y1[i][j] + y2[i][j]);
}
