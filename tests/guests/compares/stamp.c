// Parts with a length before and a CRC-32 behind them, which is computed over itself, too, and then has to be one constant: so nothing in the input is equal to what is wanted. A first part of one kind and size, and then one of another are looked for.
#include "guest.h"

// What is between two branches keeps them from being one.
static volatile word parts;

ENTRY {
    int began = 0;
    while (size >= 10) {
        word length = data[0] << 8 | data[1];
        if (length > size - 10) return 0;
        if (crc32(data + 2, length + 8) != 0x2144df1c) return 0;
        switch (word_at(data + 2)) {
        case 0x6e676562:
            if (length != 5 || data[6] != 2 || data[7] < 0x30) return 0;
            began = 1;
            break;
        case 0x74786574:
            if (!began) return 0;
            parts++;
            if (length == 3 && same(data + 6, (const byte *)"go!", 3)) __builtin_trap();
            return 0;
        default: return 0;
        }
        data += 10 + length, size -= 10 + length;
    }
    return 0;
}
