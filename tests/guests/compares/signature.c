// The signature of PNG files and the first chunk, compared by `memcmp`, whose length nobody knows when it is compiled.
#include "guest.h"

__attribute__((noinline)) int memcmp(const void *left, const void *right, size_t length) {
    const byte *l = left, *r = right;
    for (; length != 0 && *l == *r; length--, l++, r++) {}
    return length != 0 ? *l - *r : 0;
}

static const byte signature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

ENTRY {
    if (size < 20) return 0;
    size_t length = sizeof signature;
    __asm__("" : "+r"(length));
    if (memcmp(data, signature, length)) return 0;
    if ((data[8] << 24 | data[9] << 16 | data[10] << 8 | data[11]) != 13) return 0;
    if (memcmp(data + 12, "IHDR", 4)) return 0;
    __builtin_trap();
}
