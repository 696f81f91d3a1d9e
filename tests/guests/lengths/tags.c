// Tags inside of tags, three deep, each with its length in two bytes: all have to fit exactly.
#include "../compares/guest.h"

static const byte *inside(const byte *data, size_t size, byte tag, size_t *length) {
    if (size < 3 || data[0] != tag) return 0;
    *length = data[1] << 8 | data[2];
    return *length == size - 3 ? data + 3 : 0;
}

ENTRY {
    if (!(data = inside(data, size, 0x30, &size)) || !(data = inside(data, size, 0xa1, &size))) return 0;
    while (size > 0) {
        if (size < 3) return 0;
        size_t length = 3 + (data[1] << 8 | data[2]), name;
        if (length > size) return 0;
        const byte *text = inside(data, length, 0x0c, &name);
        if (!text) return 0;
        for (size_t at = 0; at < name; at++) if (text[at] < 'a' || text[at] > 'z') return 0;
        if (name == 11 && same(text, (const byte *)"abracadabra", 11)) __builtin_trap();
        data += length;
        size -= length;
    }
    return 0;
}
