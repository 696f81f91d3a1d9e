/* Says why on its standard error, and exits with a code. */
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static void parse(int first) {
    if (first == 'a') {
        fputs("bad input: an a\n", stderr);
        exit(3);
    }
}

int main(void) {
    parse(getchar());
    return 0;
}
