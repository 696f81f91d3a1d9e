// Floats in small intervals: as they are stored, converted from an integer, and both of them added.
#include "guest.h"

ENTRY {
    if (size < 24) return 0;
    double stored = *(const double *)data;
    if (!(stored > 1234.5671 && stored < 1234.5679)) return 0;
    double converted = *(const int *)(data + 8);
    if (converted * 0.25 < 777777.0 || converted * 0.25 > 777778.0) return 0;
    float single = *(const float *)(data + 12);
    if (single != -0.7182818f) return 0;
    __builtin_trap();
}
