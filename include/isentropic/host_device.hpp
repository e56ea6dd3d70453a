// Marks functions that plain C++ and CUDA, host and device, share.
#pragma once

#if defined(__CUDACC__)
#define ISENTROPIC_HOST_DEVICE __host__ __device__
#else
#define ISENTROPIC_HOST_DEVICE
#endif
