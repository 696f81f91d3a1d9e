/* Says why on its standard error, and aborts. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static int parse(const uint8_t *data, size_t size) {
    if (size > 2 && data[0] == 'a') {
        fprintf(stderr, "fatal: got an %c\n", data[0]);
        abort();
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return parse(data, size); }
