/* A calculator: `name = expression` and `expression`, one per line. */
#ifndef CALC_H
#define CALC_H

#include <stddef.h>

enum kind { END, NUMBER, NAME, KEYWORD, OPERATOR, BROKEN };

struct token {
    enum kind kind;
    int value; /* a number, a keyword's index, an operator */
    const char *text;
    size_t length;
};

struct lexer {
    const char *at, *end;
    int line;
};

/* lex.c */
struct token next_token(struct lexer *lexer);
const char *kind_name(enum kind kind);
extern int tokens_seen;

/* store.c */
int *variable(const char *name, size_t length);
int variable_count(void);
int checksum(void);
void forget_variables(void);

/* eval.c */
int run_line(struct lexer *lexer, int *result);
const char *last_error(void);

/* report.c */
void report(const char *format, int number, const char *text);
int report_length(void);

static inline int clamp(int value, int low, int high) {
    return value < low ? low : value > high ? high : value;
}

#endif
