// Products of bytes by the warpgroups of a GPU of compute capability 9.0: four warps multiply 64 rows, in registers, by
// 64 columns in shared memory, and continue while the tensor cores work.
#ifndef SYNFIRE_SYNAPSES_DENSE_WARPGROUP_CUH
#define SYNFIRE_SYNAPSES_DENSE_WARPGROUP_CUH

#include <cstdint>

namespace synfire::cuda {
namespace {

inline constexpr int warpgroup_threads = 128, warpgroup_rows = 64, warpgroup_columns = 64;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// The descriptor of a right operand of 32 x 64 bytes: 8 fragments (fragments.hpp) one after the other. The core
// matrices of a fragment are 128 bytes apart, those of the next 8 columns 256 bytes.
__device__ __forceinline__ uint64_t right_operand(const void* shared) {
  const auto at = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  return (at & 0x3FFFFu) >> 4 | uint64_t{128 >> 4} << 16 | uint64_t{256 >> 4} << 32;
}

// Adds products of 64 x 32 and 32 x 64 bytes to 64 x 64 sums, with left operands as for mma.m16n8k32. Element i of a
// thread is row r + 8 * (i / 2 % 2) of its warp's 16 and column 8 * (i / 4) + 2 * c + i % 2, r = lane / 4, c = lane %
// 4.
template <bool left_signed, bool right_signed>
__device__ __forceinline__ void multiply(int32_t (&sums)[32], const uint32_t (&left)[4], uint64_t right) {
#define SYNFIRE_WGMMA(left_type, right_type)                                                                           \
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k32.s32." left_type "." right_type                                  \
               " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21," \
               " %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, {%32, %33, %34, %35}, %36, 1;"                     \
               : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3]), "+r"(sums[4]), "+r"(sums[5]),             \
                 "+r"(sums[6]), "+r"(sums[7]), "+r"(sums[8]), "+r"(sums[9]), "+r"(sums[10]), "+r"(sums[11]),           \
                 "+r"(sums[12]), "+r"(sums[13]), "+r"(sums[14]), "+r"(sums[15]), "+r"(sums[16]), "+r"(sums[17]),       \
                 "+r"(sums[18]), "+r"(sums[19]), "+r"(sums[20]), "+r"(sums[21]), "+r"(sums[22]), "+r"(sums[23]),       \
                 "+r"(sums[24]), "+r"(sums[25]), "+r"(sums[26]), "+r"(sums[27]), "+r"(sums[28]), "+r"(sums[29]),       \
                 "+r"(sums[30]), "+r"(sums[31])                                                                        \
               : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right))
  if constexpr (left_signed && right_signed)
    SYNFIRE_WGMMA("s8", "s8");
  else if constexpr (left_signed)
    SYNFIRE_WGMMA("s8", "u8");
  else if constexpr (right_signed)
    SYNFIRE_WGMMA("u8", "s8");
  else
    SYNFIRE_WGMMA("u8", "u8");
#undef SYNFIRE_WGMMA
}

// Products of a warpgroup are enqueued between begin_products() and commit_products(). Until wait_products() has
// returned, neither their sums nor their operands may be touched. The compiler does not know this of a left operand,
// whose registers it would use again: keep_operand() after the wait says that they are still in use.
__device__ __forceinline__ void begin_products() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void commit_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int n = 0>
__device__ __forceinline__ void wait_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(n) : "memory");
}

__device__ __forceinline__ void keep_operand(uint32_t (&left)[4]) {
  asm volatile("" : "+r"(left[0]), "+r"(left[1]), "+r"(left[2]), "+r"(left[3])::"memory");
}

// ---- bulk copies ----------------------------------------------------------------------------------------------------

// Counts the bytes that bulk copies have brought to shared memory, phase by phase.
class Arrivals {
 public:
  __device__ __forceinline__ void initialize(unsigned n_threads) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address()), "r"(n_threads) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  // Called by one of the threads of this phase, with the bytes that it will copy.
  __device__ __forceinline__ void expect(uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address()), "r"(bytes) : "memory");
  }
  __device__ __forceinline__ void arrive() {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address()) : "memory");
  }
  // Waits until the phase is complete; its number modulo 2.
  __device__ __forceinline__ void wait(uint32_t phase) {
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "again%=:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again%=;\n"
        "}\n" ::"r"(address()),
        "r"(phase)
        : "memory");
  }
  __device__ __forceinline__ void copy(void* to, const void* global, uint32_t bytes) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     static_cast<uint32_t>(__cvta_generic_to_shared(to))),
                 "l"(global), "r"(bytes), "r"(address())
                 : "memory");
  }

 private:
  __device__ __forceinline__ uint32_t address() const {
    return static_cast<uint32_t>(__cvta_generic_to_shared(&state_));
  }
  uint64_t state_;
};

#endif

}  // namespace
}  // namespace synfire::cuda

#endif
