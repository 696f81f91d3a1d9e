// Packets whose lengths are in words of four bytes, less one; a text in one has its own length, and zeros follow it.
#include "../compares/guest.h"

ENTRY {
    size_t longest = 0;
    byte last = 0;
    while (size > 0) {
        if (size < 4 || data[0] != 0x80 || last == 203) return 0;
        size_t length = 4 * ((data[2] << 8 | data[3]) + 1);
        last = data[1];
        if (length > size) return 0;
        if (last == 202) {
            if (length < 8) return 0;
            size_t text = data[4], end = 5 + text;
            if (end >= length || length - end > 4) return 0;
            for (size_t at = 5; at < end; at++) if (data[at] < 32) return 0;
            for (; end < length; end++) if (data[end]) return 0;
            longest = text;
        } else if (last != 203 || length != 4) {
            return 0;
        }
        data += length;
        size -= length;
    }
    if (last == 203 && longest > 20) __builtin_trap();
    return 0;
}
