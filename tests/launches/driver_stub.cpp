// The driver's names of kernels: a handle is its name here.
#include <cuda.h>

extern "C" {
CUresult cuFuncGetName(const char** name, CUfunction function) {
  *name = reinterpret_cast<const char*>(function);
  return CUDA_SUCCESS;
}
CUresult cuKernelGetName(const char** name, CUkernel kernel) {
  *name = reinterpret_cast<const char*>(kernel);
  return CUDA_SUCCESS;
}
}
