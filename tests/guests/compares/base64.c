// Magic bytes in base64.
#include "guest.h"

static int sextet(byte digit) {
    if (digit >= 'A' && digit <= 'Z') return digit - 'A';
    if (digit >= 'a' && digit <= 'z') return digit - 'a' + 26;
    if (digit >= '0' && digit <= '9') return digit - '0' + 52;
    if (digit == '+') return 62;
    if (digit == '/') return 63;
    return -1;
}

ENTRY {
    byte decoded[6];
    if (size < 8) return 0;
    for (size_t group = 0; group < 2; group++) {
        word bits = 0;
        for (size_t at = 0; at < 4; at++) {
            int six = sextet(data[4 * group + at]);
            if (six < 0) return 0;
            bits = bits << 6 | six;
        }
        decoded[3 * group] = bits >> 16;
        decoded[3 * group + 1] = bits >> 8;
        decoded[3 * group + 2] = bits;
    }
    if (!same(decoded, (const byte *)"\xf7" "Z\x99QK\x02", 6)) return 0;
    __builtin_trap();
}
