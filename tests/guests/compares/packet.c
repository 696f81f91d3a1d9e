// A packet of which all words of the header have to sum up to nothing, in ones' complement (RFC 1071), which names no field: its length, a protocol and a range of ports are looked for behind that.
#include "guest.h"

static word wide(const byte *data) {
    return data[0] << 8 | data[1];
}

ENTRY {
    if (size < 20 || data[0] != 0x46) return 0;
    word sum = 0;
    for (int at = 0; at < 20; at += 2) sum += wide(data + at);
    while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
    if ((half)~sum) return 0;
    if (wide(data + 2) != size || data[9] != 0x84 || size < 28) return 0;
    if (wide(data + 20) == 9899 && wide(data + 22) > 49152 && wide(data + 22) < 49160) __builtin_trap();
    return 0;
}
