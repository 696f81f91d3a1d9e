// Fletcher's checksum: of two sums the second is checked behind the first, and a word behind both.
#include "guest.h"

ENTRY {
    if (size < 16 || data[0] != 'F' || data[1] != 'L') return 0;
    word low = 0, high = 0;
    for (size_t at = 0; at < 12; at++) {
        low = (low + data[2 + at]) % 255;
        high = (high + low) % 255;
    }
    if (data[14] != low) return 0;
    if (data[15] != high) return 0;
    if (same(data + 2, (const byte *)"secret", 6)) __builtin_trap();
    return 0;
}
