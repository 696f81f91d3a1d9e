// Reads a comma-separated table from standard input, prints count, mean and variance of every numeric column:
//
//     $ printf 'name,age\nann,40\nbob,44\n' | stdin-tool
//     name: no numbers
//     age: 2 numbers, mean 42, variance 8
//
// The first line names the columns. A cell that is not a whole number is left out. A command as one would write it for
// a shell: nothing in it knows of fuzzing. It has one bug, in the arithmetic.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS_MAX 16
#define NAME_MAX 32
#define LINE_MAX_BYTES 1024

struct column {
    char name[NAME_MAX];
    long long count, sum, sum_of_squares;
};

// Cuts the next cell off `*rest`; NULL when there is none left.
static char *next_cell(char **rest) {
    char *cell = *rest;
    if (!cell) return NULL;
    char *comma = strchr(cell, ',');
    if (comma) *comma = 0;
    *rest = comma ? comma + 1 : NULL;
    return cell;
}

static int read_header(char *line, struct column *columns) {
    int n = 0;
    for (char *cell; n < COLUMNS_MAX && (cell = next_cell(&line)); n++) {
        snprintf(columns[n].name, NAME_MAX, "%s", cell);
    }
    return n;
}

static void read_row(char *line, struct column *columns, int n) {
    char *cell;
    for (int i = 0; i < n && (cell = next_cell(&line)); i++) {
        char *end;
        long value = strtol(cell, &end, 10);
        if (end == cell || *end) continue;
        columns[i].count++;
        columns[i].sum += value;
        columns[i].sum_of_squares += (long long)value * value;
    }
}

static long long mean(const struct column *c) { return c->sum / c->count; }

static long long variance(const struct column *c) {
    return (c->sum_of_squares - c->sum * mean(c)) / (c->count - 1);
}

int main(void) {
    static struct column columns[COLUMNS_MAX];
    char line[LINE_MAX_BYTES];
    int n = -1;
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\r\n")] = 0;
        if (n < 0) n = read_header(line, columns);
        else read_row(line, columns, n);
    }
    if (n < 0) {
        fprintf(stderr, "stdin-tool: the input is empty\n");
        return 1;
    }
    for (const struct column *c = columns; c < columns + n; c++) {
        if (c->count == 0) printf("%s: no numbers\n", c->name);
        else printf("%s: %lld numbers, mean %lld, variance %lld\n", c->name, c->count, mean(c), variance(c));
    }
    return 0;
}
