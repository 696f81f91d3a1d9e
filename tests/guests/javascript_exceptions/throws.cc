// Throws what the input says, through frames with destructors, and catches it by type, by base, by anything, or not at all.
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>
#include <map>
#include <typeinfo>
struct Base { virtual ~Base() {} int code; Base(int c) : code(c) {} };
struct Derived : Base { Derived(int c) : Base(c + 1000) {} };
struct Guard { int &n; Guard(int &n) : n(n) { n++; } ~Guard() { n += 10; } };
static int live;
static void inner(const unsigned char *d, size_t n, size_t i) {
  Guard g(live);
  if (i >= n) throw std::out_of_range("end at " + std::to_string(i));
  switch (d[i] % 11) {
  case 0: throw int(d[i]);
  case 1: throw std::runtime_error("run " + std::to_string(d[0]) + std::string(i, '.'));
  case 2: throw Derived(d[i]);
  case 3: throw "text";
  case 4: throw Base(d[i]);
  case 5: { std::vector<int> v; v.at(d[i]); break; }
  case 6: try { inner(d, n, i + 1); } catch (const std::exception &e) { printf("re %s\n", e.what()); throw; } break;
  case 7: try { inner(d, n, i + 1); } catch (int x) { printf("int %d\n", x); throw std::string("from int"); } break;
  case 8: try { inner(d, n, i + 1); } catch (Base &b) { printf("base %d\n", b.code); } catch (...) { printf("any\n"); throw; } break;
  case 9: try { try { inner(d, n, i + 1); } catch (...) { throw Derived(5); } } catch (Derived &b) { printf("derived %d\n", b.code); } break;
  default: inner(d, n, i + 1);
  }
}
extern "C" int run(const unsigned char *d, int n) {
  live = 0;
  try { inner(d, n, 0); printf("none\n"); }
  catch (const std::out_of_range &e) { printf("range %s\n", e.what()); }
  catch (const std::exception &e) { printf("std %s\n", e.what()); }
  catch (const Base *b) { printf("pointer\n"); }
  catch (const Base &b) { printf("Base %d\n", b.code); }
  catch (const char *t) { printf("%s\n", t); }
  catch (int x) { printf("i %d\n", x); if (x == 121) throw; }
  catch (std::string &s) { printf("s %s\n", s.c_str()); }
  printf("live %d\n", live); fflush(stdout);
  return live;
}
