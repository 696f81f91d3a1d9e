// Runs a little stack machine given on standard input, and throws and catches on the way in most of the ways that C++
// knows: through several frames, by value and by base class, again and nested, with destructors in between, out of
// constructors, across virtual calls, and kept for later.
//
// Each line is a program of its own; what it leaves, or throws, is printed.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

struct Underflow : std::runtime_error {
    explicit Underflow(char op) : std::runtime_error(std::string("nothing left for ") + op), op(op) {}
    char op;
};

struct Unknown : std::exception {
    explicit Unknown(char op) { std::snprintf(text, sizeof text, "unknown '%c'", op); }
    const char *what() const noexcept override { return text; }
    char text[16];
};

struct Plain { // no std::exception
    virtual ~Plain() = default;
    virtual int code() const { return 1; }
};

struct Derived : Plain {
    int code() const override { return 2; }
};

static int live;

// Says when it goes, and swallows an exception of its own on the way if it has an odd number.
struct Guard {
    explicit Guard(int number) : number(number) {
        if (number == 7) throw std::invalid_argument("guard 7");
        live++;
    }
    ~Guard() {
        live--;
        std::printf("~%d%s ", number, std::uncaught_exceptions() ? "!" : "");
        if (number % 2 == 0) return;
        try {
            throw number;
        } catch (int thrown) {
            std::printf("(%d) ", thrown);
        }
    }
    int number;
};

struct Pair { // where the second member throws, the first is destroyed
    explicit Pair(int number) : first(number - 1), second(number) {}
    Guard first, second;
};

class Machine {
  public:
    int run(const char *&at, int depth = 0) {
        Guard guard(depth);
        for (; *at && *at != ')'; at++) step(at, depth);
        if (!*at && depth) throw std::out_of_range("missing )");
        return stack.empty() ? 0 : stack.back();
    }

  private:
    int pop(char op) {
        if (stack.empty()) throw Underflow(op);
        int value = stack.back();
        stack.pop_back();
        return value;
    }

    void step(const char *&at, int depth) {
        char op = *at;
        if (op >= '0' && op <= '9') return stack.push_back(op - '0');
        switch (op) {
        case ' ': return;
        case '+': return stack.push_back(pop(op) + pop(op));
        case '*': return stack.push_back(pop(op) * pop(op));
        case '/': return divide(pop(op), pop(op));
        case 'i': throw pop(op);
        case 'l': throw static_cast<long long>(pop(op)) << 40;
        case 'd': throw 0.5 + pop(op);
        case 's': throw "text";
        case 'p': throw Plain();
        case 'q': throw Derived();
        case 'g': return stack.push_back(Pair(pop(op)).second.number);
        case 'v': return stack.push_back(std::vector<int>(2).at(pop(op)));
        case 'm': return stack.push_back(std::string(pop(op) << 24, 'm').size());
        case 'k': return keep(at);
        case 'r': return kept ? std::rethrow_exception(kept) : throw std::logic_error("nothing kept");
        case 'n': throw; // nothing is being handled, or what a handler further up handles
        case '!': std::abort();
        case 'x': std::exit(40 + pop(op));
        case '(': return nested(at, depth + 1);
        case '{': return handler(at, depth);
        default: throw Unknown(op);
        }
    }

    void divide(int divisor, int value) {
        if (divisor == 0) throw std::domain_error("division of " + std::to_string(value));
        stack.push_back(value / divisor);
    }

    // Catches some things inside of a bracket, changes some, and lets the rest go on.
    void nested(const char *&at, int depth) {
        if (depth > 40) throw std::length_error("too deep");
        auto note = std::make_unique<std::string>(depth, '.');
        try {
            run(++at, depth);
        } catch (const Underflow &error) {
            std::printf("[%s%c] ", note->c_str(), error.op);
            stack.assign(1, error.op);
            if (depth % 3 == 0) throw;
            skip(at);
        } catch (const std::logic_error &error) {
            std::printf("[%s%s] ", note->c_str(), error.what());
            std::throw_with_nested(std::runtime_error("at depth " + std::to_string(depth)));
        } catch (int value) {
            skip(at);
            stack.push_back(value);
        } catch (Plain &plain) {
            if (plain.code() == 2) throw plain; // sliced
            skip(at);
            stack.push_back(plain.code());
        }
    }

    // `{a|b}` does b if a throws, while what a threw is being handled.
    void handler(const char *&at, int depth) {
        const char *end = at + std::strcspn(at, "|"), *close = at + std::strcspn(at, "}");
        if (end > close || !*close) throw std::invalid_argument("{ without | or }");
        try {
            Guard guard(depth + 10);
            for (at++; at < end; at++) step(at, depth);
        } catch (...) {
            Guard guard(depth + 20);
            auto outer = std::current_exception();
            try {
                for (at = end + 1; at < close; at++) step(at, depth);
            } catch (double value) {
                std::printf("[%g] ", value);
                std::rethrow_exception(outer);
            }
        }
        at = close;
    }

    void keep(const char *&at) {
        try {
            step(++at, 0);
        } catch (...) {
            kept = std::current_exception();
        }
    }

    static void skip(const char *&at) {
        while (*at && *at != ')') at++;
        if (!*at) at--;
    }

    std::vector<int> stack;
    std::exception_ptr kept;
};

static void explain(const std::exception &error) {
    std::printf("%s", error.what());
    try {
        std::rethrow_if_nested(error);
    } catch (const std::exception &inner) {
        std::printf(" < ");
        explain(inner);
    }
}

static int line(const char *text) {
    try {
        std::printf("= %d", Machine().run(text));
        return 0;
    } catch (const std::bad_alloc &) {
        std::printf("! memory");
    } catch (const std::exception &error) {
        std::printf("! ");
        explain(error);
    } catch (const Plain &plain) {
        std::printf("! plain %d", plain.code());
    } catch (const char *message) {
        std::printf("! %s", message);
    } catch (long long value) {
        std::printf("! %lld", value);
    } // int and double go on
    return 1;
}

int main() {
    char text[4096];
    int failures = 0;
    while (std::fgets(text, sizeof text, stdin)) {
        text[std::strcspn(text, "\n")] = 0;
        try {
            failures += line(text);
        } catch (...) {
            std::printf("! something");
            if (std::strchr(text, '#')) throw;
            failures++;
        }
        std::printf("%s\n", live ? " LEAK" : "");
    }
    std::fprintf(stderr, "%d failures\n", failures);
    return failures > 99 ? 99 : failures;
}
