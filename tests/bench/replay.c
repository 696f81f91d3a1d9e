// A bare loop over inputs in memory: no engine, nothing judged, nothing reset.
//
//     replay <folder> <milliseconds>
//
// Runs every input once untimed, then all of them again and again until that took so much CPU time, and prints
// {"executions":1000,"cpu_ns":2000000}. With UNDER_LIBFUZZER it is linked with libFuzzer, whose callbacks the instrumented
// code calls, and has done its work before libFuzzer has begun.

#include "harness.h"
#include "inputs.h"

static void run_all(struct inputs inputs) {
    for (size_t i = 0; i < inputs.count; i++) harness_one_input(inputs.all[i].data, inputs.all[i].size);
}

static int replay(int argc, char **argv) {
    if (argc != 3) give_up("usage: replay <folder> <milliseconds>, not", argv[0]);
    if (harness_initialize && harness_initialize(&argc, &argv) != 0) give_up("failed to initialise", argv[0]);
    struct inputs inputs = read_inputs(argv[1]);
    uint64_t wanted = strtoull(argv[2], NULL, 10) * 1000000, taken = 0, passes = 0;
    run_all(inputs);

    // Twice as many passes each time, so that the clock is hardly ever read.
    for (uint64_t next = 1; taken < wanted || passes == 0; next *= 2) {
        uint64_t begin = cpu_ns();
        for (uint64_t i = 0; i < next; i++) run_all(inputs);
        taken += cpu_ns() - begin;
        passes += next;
    }
    printf("{\"executions\":%llu,\"cpu_ns\":%llu}\n", (unsigned long long)(passes * inputs.count), (unsigned long long)taken);
    return fflush(stdout);
}

#ifdef UNDER_LIBFUZZER
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    _exit(replay(*argc, *argv));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return harness_one_input(data, size);
}
#else
int main(int argc, char **argv) {
    return replay(argc, argv);
}
#endif
