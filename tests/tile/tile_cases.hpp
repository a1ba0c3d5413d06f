#pragma once

#include <string>

#include "warploom/tile/nest.hpp"

/// Nests that several tests look at.
namespace warploom::tile::test {

/// The nest of a text with one function with loops.
inline Nest analyse(const std::string& text, std::vector<SizeRange> sizes = {}) {
  return Nest::analyse(read_source(text, "nest.c", {}).at(0), std::move(sizes));
}

/// The lecture's "Safety of Permutation".
inline const std::string permutable_text = R"(
void f(int n, int m, float A[n][m + 1], float B[m]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      A[i][j + 1] = A[i][j] + B[j];
})";
inline const std::string skewed_text = R"(
void f(int n, int m, float A[n + 1][m], float B[m]) {
  for (int i = 0; i < n; i++)
    for (int j = 1; j < m; j++)
      A[i + 1][j - 1] = A[i][j] + B[j];
})";
/// The lecture's "Reuse".
inline const std::string reuse_text = R"(
void f(int n, int m, float A[m + 1]) {
  for (int i = 0; i < n; i++)
    for (int j = 1; j < m; j++)
      A[j] = A[j] + A[j + 1] + A[j - 1];
})";
/// The lecture's example of tiling.
inline const std::string sum_text = R"(
void f(int n, int m, float D[n], float B[m][n]) {
  for (int j = 0; j < m; j++)
    for (int i = 0; i < n; i++)
      D[i] = D[i] + B[j][i];
})";
inline const std::string gemm_text = R"(
void gemm(int n, float alpha, float beta, float C[n][n], float A[n][n], float B[n][n]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      C[i][j] *= beta;
      for (int k = 0; k < n; k++) C[i][j] += alpha * A[i][k] * B[k][j];
    }
})";

}  // namespace warploom::tile::test
