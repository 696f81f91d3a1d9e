// What code with clang's edge counters calls when it is loaded; nobody looks at the counters.

#include <stdint.h>

void __sanitizer_cov_8bit_counters_init(uint8_t *begin, uint8_t *end) {
    (void)begin, (void)end;
}

void __sanitizer_cov_pcs_init(const uintptr_t *begin, const uintptr_t *end) {
    (void)begin, (void)end;
}
