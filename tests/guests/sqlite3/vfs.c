// What SQLite takes for its operating system: one without files, where it is always noon of 1 January 2000, and where
// chance always says the same.

#include <sqlite3.h>
#include <string.h>

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out_flags) {
    (void)vfs, (void)name, (void)flags, (void)out_flags;
    file->pMethods = NULL;
    return SQLITE_CANTOPEN;
}

static int delete_file(sqlite3_vfs *vfs, const char *name, int sync) {
    (void)vfs, (void)name, (void)sync;
    return SQLITE_IOERR_DELETE_NOENT;
}

static int access_file(sqlite3_vfs *vfs, const char *name, int flags, int *result) {
    (void)vfs, (void)name, (void)flags;
    *result = 0;
    return SQLITE_OK;
}

static int full_name(sqlite3_vfs *vfs, const char *name, int size, char *out) {
    (void)vfs;
    if (strlen(name) >= (size_t)size) return SQLITE_CANTOPEN;
    strcpy(out, name);
    return SQLITE_OK;
}

static int randomness(sqlite3_vfs *vfs, int size, char *out) {
    (void)vfs;
    memset(out, 7, (size_t)size);
    return size;
}

static int sleep_for(sqlite3_vfs *vfs, int microseconds) {
    (void)vfs;
    return microseconds;
}

static int days(sqlite3_vfs *vfs, double *out) {
    (void)vfs;
    *out = 2451545.0;
    return SQLITE_OK;
}

static int milliseconds(sqlite3_vfs *vfs, sqlite3_int64 *out) {
    (void)vfs;
    *out = 2451545LL * 86400000;
    return SQLITE_OK;
}

static int last_error(sqlite3_vfs *vfs, int size, char *out) {
    (void)vfs, (void)size, (void)out;
    return 0;
}

static sqlite3_vfs inert = {
    .iVersion = 2,
    .szOsFile = sizeof(sqlite3_file),
    .mxPathname = 512,
    .zName = "inert",
    .xOpen = open_file,
    .xDelete = delete_file,
    .xAccess = access_file,
    .xFullPathname = full_name,
    .xRandomness = randomness,
    .xSleep = sleep_for,
    .xCurrentTime = days,
    .xCurrentTimeInt64 = milliseconds,
    .xGetLastError = last_error,
};

int sqlite3_os_init(void) {
    return sqlite3_vfs_register(&inert, 1);
}

int sqlite3_os_end(void) {
    return SQLITE_OK;
}
