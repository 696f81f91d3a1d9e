// Numbers in big-endian order, of which the first is the sum of the others and one is twice another: what is wanted of
// two of them behind that, none can be moved to alone. Then the same of little-endian ones of 32 bits, with a total that
// is given.
#include "guest.h"

static word half_at(const byte *data) {
    return data[0] << 8 | data[1];
}

ENTRY {
    if (size < 24) return 0;
    word length = half_at(data), first = half_at(data + 2), second = half_at(data + 4), third = half_at(data + 6);
    if (length != first + second + third) return 0;
    if (length < 1000) return 0;
    if (first != 2 * second) return 0;
    if (third - second != 777) return 0;
    int x = word_at(data + 8), y = word_at(data + 12), z = word_at(data + 16), total = word_at(data + 20);
    if (x < 0 || y < 0 || z < 0 || x > 100000 || y > 100000 || z > 100000) return 0;
    if (x + y + z != total) return 0;
    if (total != 123457) return 0;
    if (x - y != 5000) return 0;
    if (y - z == 7000) __builtin_trap();
    return 0;
}
