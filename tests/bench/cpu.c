// Runs a program until it and everything it started have used so much CPU time, and says how much that was.
//
//     cpu <milliseconds> <starts> <program> <argument>...
//
// Standard output is the program's, followed by a line {"status":0,"starts":1,"cpu_ns":2000000}. A program that crashes
// is started again, so many times in all (0 for as often as it takes), as a script around libFuzzer would: that is how it
// is meant to find more than one thing. Whatever is left of a program when it has ended is killed.

#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    LOOK_MS = 50,
    // For the program to end after it was asked to.
    GRACE_MS = 20000,
    PROCESSES_MAX = 4096,
};

static _Noreturn void give_up(const char *what) {
    fprintf(stderr, "cpu: %s: %s\n", what, strerror(errno));
    exit(2);
}

struct process {
    pid_t id, parent;
    uint64_t ticks;
    int ours;
};

// Reads /proc/<pid>/stat; what its dead children used that it has waited for is included.
static int read_process(const char *name, struct process *process) {
    char path[64], line[1024];
    snprintf(path, sizeof path, "/proc/%.20s/stat", name);
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    char *found = fgets(line, sizeof line, file);
    fclose(file);
    // The name stands in parentheses and may contain anything.
    char *rest = found ? strrchr(line, ')') : NULL;
    unsigned long times[4];
    int parent;
    if (!rest || sscanf(rest, ") %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %lu %lu", &parent, &times[0], &times[1],
                        &times[2], &times[3]) != 5) {
        return 0;
    }
    *process = (struct process){atoi(name), parent, times[0] + times[1] + times[2] + times[3], parent == getpid()};
    return 1;
}

// Finds all processes that descend from this one.
static size_t descendants(struct process *processes) {
    DIR *folder = opendir("/proc");
    if (!folder) give_up("failed to read /proc");
    size_t count = 0;
    for (struct dirent *entry; count < PROCESSES_MAX && (entry = readdir(folder));) {
        if (isdigit((unsigned char)entry->d_name[0])) count += (size_t)read_process(entry->d_name, &processes[count]);
    }
    closedir(folder);
    for (int changed = 1; changed;) {
        changed = 0;
        for (size_t i = 0; i < count; i++) {
            for (size_t j = 0; !processes[i].ours && j < count; j++) {
                changed |= processes[i].ours = processes[j].ours && processes[j].id == processes[i].parent;
            }
        }
    }
    size_t ours = 0;
    for (size_t i = 0; i < count; i++) {
        if (processes[i].ours) processes[ours++] = processes[i];
    }
    return ours;
}

// What those used that are no more.
static uint64_t reaped_ns(void) {
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    uint64_t seconds = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec);
    return seconds * 1000000000 + (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
}

static uint64_t used_ns(void) {
    static struct process processes[PROCESSES_MAX];
    uint64_t tick_ns = 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK), used = reaped_ns();
    for (size_t i = descendants(processes); i-- > 0;) used += processes[i].ticks * tick_ns;
    return used;
}

static void kill_descendants(void) {
    static struct process processes[PROCESSES_MAX];
    for (size_t i = descendants(processes); i-- > 0;) kill(processes[i].id, SIGKILL);
}

static void sleep_ms(long milliseconds) {
    nanosleep(&(struct timespec){milliseconds / 1000, milliseconds % 1000 * 1000000}, NULL);
}

static pid_t start(char **argv) {
    pid_t child = fork();
    if (child < 0) give_up("failed to fork");
    if (child == 0) {
        signal(SIGINT, SIG_DFL);
        execvp(argv[0], argv);
        fprintf(stderr, "cpu: failed to start `%s`: %s\n", argv[0], strerror(errno));
        _exit(127);
    }
    return child;
}

// Waits until the program ends by itself or is asked to; returns its status. What it leaves behind becomes our child.
static int run(char **argv, uint64_t limit_ns) {
    pid_t program = start(argv);
    long asked_ms_ago = -1;
    int status;
    for (;;) {
        pid_t ended = waitpid(-1, &status, WNOHANG);
        if (ended == program) break;
        if (ended > 0) continue;
        sleep_ms(LOOK_MS);
        if (asked_ms_ago < 0 && used_ns() >= limit_ns) {
            kill(program, SIGINT);
            asked_ms_ago = 0;
        } else if (asked_ms_ago >= 0 && (asked_ms_ago += LOOK_MS) >= GRACE_MS) {
            kill(program, SIGKILL);
        }
    }
    // One that is killed may have had children, which are ours by then.
    for (int rest; (rest = waitpid(-1, &(int){0}, WNOHANG)) >= 0;) {
        if (rest > 0) continue;
        kill_descendants();
        sleep_ms(1);
    }
    return status;
}

// An exit code that says more than how it went, as 77 does of libFuzzer, or a signal.
static int is_crash(int status) {
    return WIFSIGNALED(status) || (WEXITSTATUS(status) >= 70 && WEXITSTATUS(status) < 127);
}

int main(int argc, char **argv) {
    if (argc < 4) {
        fprintf(stderr, "usage: cpu <milliseconds> <starts> <program> <argument>...\n");
        return 2;
    }
    uint64_t limit_ns = strtoull(argv[1], NULL, 10) * 1000000;
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) give_up("failed to adopt orphans");
    // The terminal sends it to the program too, whose end we wait for.
    signal(SIGINT, SIG_IGN);
    int status, starts = 0, starts_max = atoi(argv[2]);
    do {
        status = run(argv + 3, limit_ns);
        starts++;
    } while (is_crash(status) && starts != starts_max && reaped_ns() < limit_ns);
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    printf("{\"status\":%d,\"starts\":%d,\"cpu_ns\":%llu}\n", code, starts, (unsigned long long)reaped_ns());
    return 0;
}
