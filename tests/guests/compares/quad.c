// Floats of 128 bits: in an interval, negative, and an exact one.
#include "guest.h"

ENTRY {
    if (size < 56) return 0;
    const long double *stored = (const long double *)data;
    if (stored[0] < 1000000.01L || stored[0] > 1000010.99L) return 0;
    if (!(stored[1] < -0.3L) || stored[1] < -0.3000001L) return 0;
    if (stored[2] != 2.71828182845904523536028747135266L) return 0;
    if (*(const double *)(data + 48) != 31337.015625L) return 0;
    __builtin_trap();
}
