// Marks functions shared by plain C++ and CUDA (host and device).
#pragma once

#if defined(__CUDACC__)
#define ISENTROPIC_HOST_DEVICE __host__ __device__
#else
#define ISENTROPIC_HOST_DEVICE
#endif
