// libFuzzer's engine, kept on the inputs it began with: its mutator gives it one of them after the other. The choice is not
// left to the engine, which prefers some, because everybody has to run the same.
//
// BENCH_INPUTS is the folder, BENCH_MS how much CPU time to take. After the first 1,000 executions or all inputs, whichever
// is more, time is taken; {"executions":1000,"cpu_ns":2000000} is printed.

#include "harness.h"
#include "inputs.h"
#include <unistd.h>

enum { WARM = 1000, BETWEEN_LOOKS = 64 };

static const char *variable(const char *name) {
    const char *value = getenv(name);
    if (!value) give_up("there is no variable", name);
    return value;
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    return harness_initialize ? harness_initialize(argc, argv) : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return harness_one_input(data, size);
}

// Called once before each execution, when the executions before it are judged.
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max, unsigned int seed) {
    (void)size, (void)seed;
    static struct inputs inputs;
    static uint64_t calls, warm, begin, wanted;
    if (calls == 0) {
        inputs = read_inputs(variable("BENCH_INPUTS"));
        wanted = strtoull(variable("BENCH_MS"), NULL, 10) * 1000000;
        warm = inputs.count > WARM ? inputs.count : WARM;
    }
    if (calls == warm) begin = cpu_ns();
    uint64_t executions = calls - warm;
    if (calls > warm && executions % BETWEEN_LOOKS == 0) {
        uint64_t taken = cpu_ns() - begin;
        if (taken >= wanted) {
            printf("{\"executions\":%llu,\"cpu_ns\":%llu}\n", (unsigned long long)executions, (unsigned long long)taken);
            _exit(fflush(stdout));
        }
    }
    struct input *next = &inputs.all[calls++ % inputs.count];
    if (next->size > size_max) give_up("too long for", "-max_len");
    memcpy(data, next->data, next->size);
    return next->size;
}
