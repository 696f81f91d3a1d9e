#include "calc.h"

#include <assert.h>
#include <string.h>

int tokens_seen;

static const char *const keywords[] = {"let", "min", "max", "abs", "sum", "if"};

static const char *const kinds[] = {"end of line", "number", "name", "keyword", "operator", "something else"};

static int is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static int is_digit(char c) {
    return c >= '0' && c <= '9';
}

static int find_keyword(const char *text, size_t length) {
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (strlen(keywords[i]) == length && !memcmp(keywords[i], text, length))
            return (int)i;
    return -1;
}

__attribute__((noinline)) static int read_number(struct lexer *lexer) {
    unsigned value = 0;
    while (lexer->at < lexer->end && is_digit(*lexer->at))
        value = value * 10 + (unsigned)(*lexer->at++ - '0');
    return (int)(value & 0x7fffffff);
}

static struct token read_word(struct lexer *lexer) {
    struct token token = {NAME, 0, lexer->at, 0};
    while (lexer->at < lexer->end && (is_letter(*lexer->at) || is_digit(*lexer->at)))
        lexer->at++;
    token.length = (size_t)(lexer->at - token.text);
    int keyword = find_keyword(token.text, token.length);
    if (keyword >= 0) {
        token.kind = KEYWORD;
        token.value = keyword;
    }
    return token;
}

struct token next_token(struct lexer *lexer) {
    struct token token = {END, 0, lexer->at, 1};
    while (lexer->at < lexer->end && (*lexer->at == ' ' || *lexer->at == '\t'))
        lexer->at++;
    tokens_seen++;
    if (lexer->at == lexer->end)
        return token;
    char c = *lexer->at;
    token.text = lexer->at;
    if (is_letter(c))
        return read_word(lexer);
    if (is_digit(c)) {
        token.kind = NUMBER;
        token.value = read_number(lexer);
        return token;
    }
    lexer->at++;
    switch (c) {
    case '\n':
        lexer->line++;
        return token;
    case '+': case '-': case '*': case '/': case '%': case '(': case ')': case ',': case '=': case '<': case '>':
        token.kind = OPERATOR;
        token.value = c;
        return token;
    default:
        token.kind = BROKEN;
        token.value = c;
        return token;
    }
}

const char *kind_name(enum kind kind) {
    assert(kind <= BROKEN);
    return kinds[clamp(kind, END, BROKEN)];
}
