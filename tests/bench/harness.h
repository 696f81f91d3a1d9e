// The guest's harness, whose two functions are compiled under these names: the drivers or libFuzzer have the usual ones.
#pragma once

#include <stddef.h>
#include <stdint.h>

int harness_one_input(const uint8_t *data, size_t size);

// Not every harness has one.
__attribute__((weak)) int harness_initialize(int *argc, char ***argv);
