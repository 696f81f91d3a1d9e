// A word behind a cipher whose key follows from the bytes before, compared as compilers do it: eight bytes at once, and
// two.
#include "guest.h"

ENTRY {
    if (size < 10) return 0;
    volatile byte plain[16];
    byte key = 0x5a;
    for (int at = 0; at < 10; at++) {
        plain[at] = data[at] ^ key;
        key = key * 5 + data[at];
    }
    unsigned long long first = *(unsigned long long *)plain ^ 0x6d2d6b636f6c6e75;
    if ((first | *(half *)(plain + 8) ^ 0x2165) == 0) __builtin_trap();
    return 0;
}
