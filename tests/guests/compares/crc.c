// A record with its CRC-32 behind it, and a command in it.
#include "guest.h"

ENTRY {
    if (size < 16) return 0;
    if (data[0] != 'R' || data[1] != 'C') return 0;
    if (word_at(data + 12) != crc32(data, 12)) return 0;
    __builtin_trap();
}
