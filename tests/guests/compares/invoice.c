// A line of text, two quantities with their prices, a discount and a total: numbers of as many digits as they need.
#include "guest.h"

static const byte *number(const byte *at, const byte *end, word *value) {
    const byte *start = at;
    *value = 0;
    while (at < end && *at >= '0' && *at <= '9' && at - start < 5) *value = *value * 10 + (*at++ - '0');
    return at == start ? 0 : at;
}

ENTRY {
    const byte *at = data, *end = data + size;
    word quantity[2], price[2], discount, total;
    for (int item = 0; item < 2; item++) {
        if (!(at = number(at, end, &quantity[item])) || at == end || *at++ != 'x') return 0;
        if (!(at = number(at, end, &price[item])) || at == end || *at++ != '+') return 0;
    }
    if (!(at = number(at, end, &discount)) || at == end || *at++ != '=') return 0;
    if (!(at = number(at, end, &total)) || at != end) return 0;
    if (quantity[0] + quantity[1] != 57) return 0;
    word sum = quantity[0] * price[0] + quantity[1] * price[1];
    if (sum < 2000 || discount * 10 != sum) return 0;
    if (sum - discount == total) __builtin_trap();
    return 0;
}
