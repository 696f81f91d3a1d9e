// A guest that wasm2c has translated to C, under the names of a harness. Two headers are written for it by xtask, from what
// wasm2c wrote: names.h says what its functions are called, imports.h defines what it imports.

#include "harness.h"
#include "names.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wasm-rt-impl.h>

enum { EBADF = 8, INPUT_BYTES_MAX = 1 << 20 };

static guest_instance guest;
static u32 place;

// There are no arguments and no variables.
static u32 no_strings(u32 count, u32 size) {
    memset(guest_memory(&guest)->data + count, 0, 4);
    memset(guest_memory(&guest)->data + size, 0, 4);
    return 0;
}

static _Noreturn void not_provided(const char *import) {
    fprintf(stderr, "the guest called `%s`\n", import);
    exit(2);
}

#include "imports.h"

int harness_initialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    wasm_rt_init();
    int trap = wasm_rt_impl_try();
    if (trap != 0) {
        fprintf(stderr, "the guest trapped: %d\n", trap);
        exit(2);
    }
    guest_init();
    guest_instantiate(&guest);
#ifdef guest_initialize
    guest_initialize(&guest);
#endif
#ifdef guest_fuzzer_initialize
    if (guest_fuzzer_initialize(&guest, 0, 0) != 0) return 1;
#endif
    place = guest_malloc(&guest, INPUT_BYTES_MAX);
    return place == 0;
}

int harness_one_input(const uint8_t *data, size_t size) {
    if (size > INPUT_BYTES_MAX) not_provided("room for such an input");
    memcpy(guest_memory(&guest)->data + place, data, size);
    return (int)guest_one_input(&guest, place, (u32)size);
}
