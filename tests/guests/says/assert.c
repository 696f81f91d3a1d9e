/* An assertion that fails. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

__attribute__((noinline)) static int parse(const uint8_t *data, size_t size) {
    assert(size < 3 || data[0] != 'a');
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return parse(data, size); }
