// The kernels of the greedy registration, for greedy_sim_test.cpp.
#include "registration/affine_kernels.cu"
#include "registration/field_kernels.cu"
#include "registration/greedy_folds.cu"
#include "registration/greedy_kernels.cu"
#include "registration/greedy_levels.cu"
