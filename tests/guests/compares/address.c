// An address of four numbers in text, each of up to three digits, of which only the network is compared.
#include "guest.h"

ENTRY {
    word address = 0;
    size_t at = 0;
    for (int part = 0; part < 4; part++) {
        word number = 0, digits = 0;
        for (; at < size && data[at] >= '0' && data[at] <= '9' && digits < 3; digits++) number = number * 10 + data[at++] - '0';
        if (digits == 0 || number > 255) return 0;
        address = address << 8 | number;
        if (part < 3 && (at == size || data[at++] != '.')) return 0;
    }
    if ((address & 0xfffffff0) != 0xac1ec8d0) return 0;
    __builtin_trap();
}
