/* Jumps as the input says: out of calls, into a frame that was left or is there, and with no value. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
static jmp_buf outer, inner;
static int depth;
static void parse(const unsigned char *d, int n, int i) {
  if (i >= n) longjmp(outer, 7);
  depth++;
  switch (d[i] % 7) {
  case 0: longjmp(outer, d[i] + 1);
  case 1: if (setjmp(inner) == 0) { parse(d, n, i + 1); } else { printf("inner %d\n", i); } break;
  case 2: longjmp(outer, 0);
  case 3: if (depth > 3) longjmp(inner, 3); parse(d, n, i + 1); break;
  case 4: if (d[i] == 200) abort(); parse(d, n, i + 1); break;
  default: parse(d, n, i + 1); printf("back %d\n", i);
  }
}
int run(const unsigned char *d, int n) {
  depth = 0;
  volatile int tries = 0;
  int r = setjmp(outer);
  if (r != 0 && ++tries > 2) { printf("end %d %d\n", r, depth); fflush(stdout); return r; }
  if (r != 0) printf("jumped %d\n", r);
  if (setjmp(inner) == 0) parse(d, n, tries);
  printf("done %d\n", depth); fflush(stdout);
  return depth;
}
