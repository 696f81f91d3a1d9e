// Four numbers in text with a CRC-16 (CCITT) behind them: with other digits they have another length, the checksum lies elsewhere, and of the last two the first has to stay the larger one.
#include "guest.h"

ENTRY {
    word parts[4];
    size_t at = 0;
    for (int part = 0; part < 4; part++) {
        size_t start = at;
        parts[part] = 0;
        while (at < size && data[at] >= '0' && data[at] <= '9') parts[part] = parts[part] * 10 + data[at++] - '0';
        if (at == start || at > start + 3) return 0;
        if (part < 3 && (at >= size || data[at++] != '-')) return 0;
    }
    if (size < at + 2) return 0;
    word crc = 0xffff;
    for (size_t byte = 0; byte < at; byte++) {
        crc ^= data[byte] << 8;
        for (int bit = 0; bit < 8; bit++) crc = crc << 1 ^ (crc & 0x8000 ? 0x1021 : 0);
    }
    if ((data[at] << 8 | data[at + 1]) != (half)crc) return 0;
    if (parts[0] == 17 && parts[1] == 4 && parts[2] > parts[3] && parts[3] > 640) __builtin_trap();
    return 0;
}
