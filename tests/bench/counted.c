// Counts executions and the bytes they read, whoever fuzzes: BENCH_COUNTS is a file of two 64-bit numbers that grow, which
// outlive the process and are shared by all of a campaign's; without it nobody asks. With AT_CLOSED_PAGE, reading behind an
// input is a crash.

#include "harness.h"
#ifdef AT_CLOSED_PAGE
#include "closed_page.h"
#endif
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static struct {
    uint64_t executions, bytes;
} *counts;

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    const char *path = getenv("BENCH_COUNTS");
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    counts = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED | (path ? 0 : MAP_ANONYMOUS), file, 0);
    if (counts == MAP_FAILED) {
        perror("failed to map the file that BENCH_COUNTS names");
        _exit(2);
    }
    if (path) close(file);
    return harness_initialize ? harness_initialize(argc, argv) : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    counts->executions++;
    counts->bytes += size;
#ifdef AT_CLOSED_PAGE
    data = at_closed_page(data, size);
#endif
    return harness_one_input(data, size);
}
