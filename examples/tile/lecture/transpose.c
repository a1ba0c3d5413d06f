/* One side of a transpose is scattered, whichever loop is inside. */
void transpose(int height, int width, float out[width][height], const float in[height][width]) {
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++)
      out[x][y] = in[y][x];
}
