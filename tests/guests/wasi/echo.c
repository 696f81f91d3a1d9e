// Arguments, environment, and standard input line by line; output in several ways, also to standard error.
// Built with: clang-22 --target=wasm32-wasi --no-wasm-opt -Wno-deprecated -O1 -Wl,--strip-all echo.c -o echo.wasm
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

int main(int argc, char **argv) {
    for (int i = 0; i < argc; i++) printf("argument %d: %s\n", i, argv[i]);
    for (char **e = environ; *e; e++) printf("environment: %s\n", *e);
    printf("terminals: %d %d %d\n", isatty(0), isatty(1), isatty(2));
    char line[64];
    int lines = 0;
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        printf("%3d: %s\n", ++lines, line);
        if (lines % 7 == 0) fprintf(stderr, "%d lines so far\n", lines);
        if (strcmp(line, "exit") == 0) exit(lines);
        if (strcmp(line, "abort") == 0) abort();
    }
    printf("%d lines, eof %d, error %d\n", lines, !!feof(stdin), !!ferror(stdin));
    fflush(stdout);
    write(1, "raw\n", 4);
    return lines == 0 ? 3 : 0;
}
