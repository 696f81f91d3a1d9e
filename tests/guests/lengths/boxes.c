// Boxes whose sizes count themselves, and in one of them a number of entries: the box has no more and no less.
#include "../compares/guest.h"

static word big(const byte *data) { return (word)data[0] << 24 | data[1] << 16 | data[2] << 8 | data[3]; }

ENTRY {
    int headers = 0;
    while (size > 0) {
        if (size < 8) return 0;
        word length = big(data);
        if (length < 8 || length > size) return 0;
        if (same(data + 4, (const byte *)"head", 4)) {
            if (length != 12 || headers++) return 0;
        } else if (same(data + 4, (const byte *)"list", 4)) {
            if (headers != 1 || length < 12) return 0;
            word count = big(data + 8), last = 0;
            if (count > 1000 || length != 12 + 6 * count) return 0;
            for (word entry = 0; entry < count; entry++) {
                if (big(data + 12 + 6 * entry) < last) return 0;
                last = big(data + 12 + 6 * entry);
            }
            if (count == 16) __builtin_trap();
        } else {
            return 0;
        }
        data += length;
        size -= length;
    }
    return 0;
}
