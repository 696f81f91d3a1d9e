// A mark says the byte order, and the same comparisons are met in the one before anything is tried in the other.
#include "guest.h"

static const half WORDS[] = {0x3b1, 0x3c9, 0x20ac, 0x41};

ENTRY {
    if (size < 14) return 0;
    int is_big = data[0] == 0xfe && data[1] == 0xff;
    if (!is_big && (data[0] != 0xff || data[1] != 0xfe)) return 0;
    word units[6];
    for (int at = 0; at < 6; at++) {
        byte one = data[2 + 2 * at], other = data[3 + 2 * at];
        units[at] = is_big ? one << 8 | other : other << 8 | one;
    }
    for (int at = 0; at < 4; at++) {
        if (units[at] != WORDS[at]) return 0;
    }
    if (is_big && units[4] - units[5] == 0x1234) __builtin_trap();
    return 0;
}
