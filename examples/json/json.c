// Feeds Jansson's parser and printer, and checks a law that both must keep: what was printed parses to an equal value.
// Runs unchanged under libFuzzer.

#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>

// The hash table's seed would be taken from the clock: a fixed one makes a finding the same everywhere.
int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    json_object_seed(1);
    return 0;
}

// Prints `value` as `flags` say, parses that again, and fails if the two differ.
static void check_round_trip(const json_t *value, size_t flags) {
    char *text = json_dumps(value, flags | JSON_ENCODE_ANY);
    if (!text) abort();
    json_error_t error;
    json_t *again = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    if (!again || !json_equal(value, again)) abort();
    json_decref(again);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    json_error_t error;
    json_t *value = json_loadb((const char *)data, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    if (!value) return 0;
    check_round_trip(value, JSON_COMPACT);
    check_round_trip(value, JSON_INDENT(2) | JSON_SORT_KEYS | JSON_ENSURE_ASCII | JSON_ESCAPE_SLASH);
    json_decref(value);
    return 0;
}
