// A record that nothing gets into but by a CRC-32 before it, over all that follows, and a length: a kind and a command are looked for behind them.
#include "guest.h"

ENTRY {
    if (size < 24) return 0;
    if ((data[4] << 8 | data[5]) != size - 6) return 0;
    if (word_at(data) != crc32(data + 4, size - 4)) return 0;
    if (data[6] != 0xb7) return 0;
    if (word_at(data + 8) != 0x31c0de77) return 0;
    if (!same(data + 14, (const byte *)"swordfish", 9)) return 0;
    __builtin_trap();
}
