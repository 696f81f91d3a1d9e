// A parser that allocates, built as the README says: `malloc` is not exported.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *copy = malloc(size + 1);
    if (!copy) abort();
    memcpy(copy, data, size);
    copy[size] = 0;
    volatile long value = strtol(copy, NULL, 10);
    (void)value;
    // Up to 4 MiB, all of it written.
    size_t bytes = size ? (size_t)data[0] << 14 : 100;
    char *block = malloc(bytes);
    if (block) memset(block, 0xee, bytes);
    if (memcmp(copy, data, size)) abort();
#ifdef PLANTED
    if (size > 1 && data[1] == 'x') {
        volatile uint8_t behind = data[size];
        (void)behind;
    }
#endif
    free(block);
    free(copy);
    return 0;
}
