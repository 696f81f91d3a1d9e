// A decimal number of nine digits in a range, whose last digit is a check digit.
#include "guest.h"

ENTRY {
    if (size < 10) return 0;
    word number = 0, sum = 0;
    for (size_t at = 0; at < 9; at++) {
        word digit = data[at] - '0';
        if (digit > 9) return 0;
        number = number * 10 + digit;
        if (at < 8) sum += digit * (at + 2);
    }
    if (data[9] != ';') return 0;
    if (number < 731000000 || number > 731999999) return 0;
    if (sum * 7 % 11 != data[8] - '0') return 0;
    __builtin_trap();
}
