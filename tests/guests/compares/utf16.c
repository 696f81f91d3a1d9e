// A keyword in UTF-16, unit by unit.
#include "guest.h"

static const half keyword[] = {'P', 'a', 0x00df, 'w', 'o', 'r', 't', 0x20ac, '!', 0};

ENTRY {
    for (size_t unit = 0; keyword[unit]; unit++) {
        if (2 * unit + 2 > size) return 0;
        half read = data[2 * unit] | data[2 * unit + 1] << 8;
        if (read != keyword[unit]) return 0;
    }
    __builtin_trap();
}
