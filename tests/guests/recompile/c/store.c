#include "calc.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS 64

struct entry {
    struct entry *next;
    int value;
    size_t length;
    char name[];
};

static struct entry *buckets[BUCKETS];
static int count;
static int scratch;
static int sorted[256];

static unsigned hash(const char *name, size_t length) {
    unsigned h = 2166136261u;
    for (size_t i = 0; i < length; i++)
        h = (h ^ (unsigned char)name[i]) * 16777619u;
    return h;
}

int *variable(const char *name, size_t length) {
    struct entry **place = &buckets[hash(name, length) % BUCKETS];
    for (struct entry *e = *place; e; e = e->next)
        if (e->length == length && !memcmp(e->name, name, length))
            return &e->value;
    struct entry *e = malloc(sizeof *e + length);
    if (!e)
        return &scratch;
    e->next = *place;
    e->value = 0;
    e->length = length;
    memcpy(e->name, name, length);
    *place = e;
    count++;
    return &e->value;
}

int variable_count(void) {
    return count;
}

static int ascending(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* Independent of the order in which variables were made. */
int checksum(void) {
    int n = 0;
    for (int i = 0; i < BUCKETS; i++)
        for (struct entry *e = buckets[i]; e; e = e->next)
            if (n < 256)
                sorted[n++] = e->value;
    qsort(sorted, (size_t)n, sizeof *sorted, ascending);
    unsigned sum = 70000;
    for (int i = 0; i < n; i++)
        sum = sum * 31 + (unsigned)sorted[i];
    return (int)sum;
}

void forget_variables(void) {
    for (int i = 0; i < BUCKETS; i++) {
        struct entry *e = buckets[i];
        while (e) {
            struct entry *next = e->next;
            free(e);
            e = next;
        }
        buckets[i] = NULL;
    }
    count = 0;
}
