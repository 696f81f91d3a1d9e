// Inputs end where an inaccessible page begins, as they do under fuzzbox: to read one byte more is a crash.
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CLOSED_PAGE_INPUT_BYTES_MAX = 1 << 20 };

static const uint8_t *at_closed_page(const uint8_t *data, size_t size) {
    static uint8_t *end;
    if (!end) {
        long page = sysconf(_SC_PAGESIZE);
        size_t len = CLOSED_PAGE_INPUT_BYTES_MAX + (size_t)page;
        uint8_t *block = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (block == MAP_FAILED || mprotect(block + CLOSED_PAGE_INPUT_BYTES_MAX, (size_t)page, PROT_NONE) != 0) {
            perror("failed to close a page");
            _exit(2);
        }
        end = block + CLOSED_PAGE_INPUT_BYTES_MAX;
    }
    if (size > CLOSED_PAGE_INPUT_BYTES_MAX) _exit(2);
    return memcpy(end - size, data, size);
}
