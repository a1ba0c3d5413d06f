#pragma once

// Both take a block of 256 threads and 256 values.
void smooth(int* values);
void reverse(int* values);
__device__ int mean(int a, int b);
