// Inputs from a folder, and the clock that all loops use.
#pragma once

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct input {
    uint8_t *data;
    size_t size;
};

struct inputs {
    struct input *all;
    size_t count;
};

static _Noreturn void give_up(const char *what, const char *name) {
    fprintf(stderr, "%s `%s`\n", what, name);
    exit(2);
}

static void *room(size_t bytes) {
    void *place = malloc(bytes ? bytes : 1);
    if (!place) give_up("no memory for", "inputs");
    return place;
}

static int is_file(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

static struct input read_input(const char *folder, const char *name) {
    size_t length = strlen(folder) + strlen(name) + 2;
    char *path = room(length);
    snprintf(path, length, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0) give_up("failed to read", path);
    long size = ftell(file);
    rewind(file);
    if (size < 0) give_up("failed to read", path);
    struct input input = {room((size_t)size), (size_t)size};
    if (fread(input.data, 1, input.size, file) != input.size) give_up("failed to read", path);
    fclose(file);
    free(path);
    return input;
}

// All files of a folder, in the order of their names, each in an allocation of its own.
static struct inputs read_inputs(const char *folder) {
    struct dirent **entries;
    int count = scandir(folder, &entries, is_file, alphasort);
    if (count <= 0) give_up("no inputs in", folder);
    struct inputs inputs = {room((size_t)count * sizeof(struct input)), (size_t)count};
    for (int i = 0; i < count; i++) {
        inputs.all[i] = read_input(folder, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return inputs;
}

// CPU time of this thread.
static uint64_t cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
