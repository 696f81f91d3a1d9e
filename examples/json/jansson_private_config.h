// What Jansson's configure script would write for this target; without clock and /dev/urandom, the seed is set by json.c.
#define HAVE_STDINT_H 1
