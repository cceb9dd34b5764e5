/* CPU dispatch: inner loops are compiled once per kind of processor, and the program chooses the
 * best instance for the processor that it runs on.
 *
 * AMPED_CPU_DISPATCH(X) calls X(cpu) for each kind, best first. The last kind, `any`, is the
 * compiler's own target. For each kind:
 *   AMPED_HAS_cpu     true if this processor has it
 *   AMPED_TARGET_cpu  the attribute of functions compiled for it
 *   AMPED_FUSED_cpu   true if fma() is an instruction; else it is a slow call
 * With address sanitizer there is only `any`. */
#ifndef AMPED_CPU_DISPATCH_H
#define AMPED_CPU_DISPATCH_H

#include <stdbool.h>

/* A table larger than this many bytes does not stay in a core's own caches. */
#define AMPED_CACHED_BYTES (UINT64_C(256) << 10)

#if defined __x86_64__ && !defined __SANITIZE_ADDRESS__
#define AMPED_CPU_DISPATCH(X) X(avx512) X(avx2) X(any)
#else
#define AMPED_CPU_DISPATCH(X) X(any)
#endif

#define AMPED_HAS_avx512                                                                           \
  (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&                      \
   __builtin_cpu_supports("avx512dq") && AMPED_HAS_avx2)
#define AMPED_TARGET_avx512 __attribute__((target("avx512f,avx512vl,avx512dq,avx2,fma")))
#define AMPED_FUSED_avx512 true

#define AMPED_HAS_avx2 (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
#define AMPED_TARGET_avx2 __attribute__((target("avx2,fma")))
#define AMPED_FUSED_avx2 true

#define AMPED_HAS_any true
#define AMPED_TARGET_any
#ifdef FP_FAST_FMAF
#define AMPED_FUSED_any true
#else
#define AMPED_FUSED_any false
#endif

/* For functions whose loops are vectorised only inside their callers. */
#define AMPED_INLINE static inline __attribute__((always_inline))

#endif
