// Feeds SQLite: the input is a script that runs on a new database in memory.

#include <sqlite3.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// Between two calls of `progress`, and how many calls there are before a script is stopped; what may be allocated.
enum { STEPS_PER_CALL = 1000, CALLS_MAX = 100, HEAP_BYTES_MAX = 32 << 20 };

static const struct {
    int limit, value;
} limits[] = {
    {SQLITE_LIMIT_LENGTH, 50000},      {SQLITE_LIMIT_SQL_LENGTH, 50000},          {SQLITE_LIMIT_COLUMN, 100},
    {SQLITE_LIMIT_EXPR_DEPTH, 100},    {SQLITE_LIMIT_COMPOUND_SELECT, 20},        {SQLITE_LIMIT_VDBE_OP, 25000},
    {SQLITE_LIMIT_FUNCTION_ARG, 50},   {SQLITE_LIMIT_ATTACHED, 4},                {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100},
    {SQLITE_LIMIT_TRIGGER_DEPTH, 10},  {SQLITE_LIMIT_VARIABLE_NUMBER, 100},
};

// What the rows held; kept so that the values are made.
size_t row_bytes;

static int row(void *user, int columns, char **values, char **names) {
    (void)user, (void)names;
    for (int i = 0; i < columns; i++) row_bytes += values[i] ? strlen(values[i]) : 0;
    return 0;
}

static int progress(void *calls) {
    return ++*(int *)calls > CALLS_MAX;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *script = malloc(size + 1);
    if (!script) return 0;
    memcpy(script, data, size);
    script[size] = 0;

    sqlite3 *db = NULL;
    // The generator starts anew, and so do limits of the heap, which a PRAGMA lowers for the whole process: an execution
    // doesn't depend on earlier ones, also where nobody restores memory. (After `PRAGMA hard_heap_limit=4` all others
    // would be without memory.)
    sqlite3_randomness(0, NULL);
    sqlite3_hard_heap_limit64(HEAP_BYTES_MAX);
    sqlite3_soft_heap_limit64(HEAP_BYTES_MAX);
    if (sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY, NULL) == SQLITE_OK) {
        int calls = 0;
        sqlite3_progress_handler(db, STEPS_PER_CALL, progress, &calls);
        for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) sqlite3_limit(db, limits[i].limit, limits[i].value);
        sqlite3_exec(db, script, row, NULL, NULL);
    }
    sqlite3_close(db);
    free(script);
    return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    return sqlite3_initialize();
}
