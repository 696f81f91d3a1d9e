// What C programs do with files: each line shows a result and errno.
// Built with: clang-22 --target=wasm32-wasi --no-wasm-opt -Wno-deprecated -O1 -Wl,--strip-all files.c -o files.wasm
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int show(const char *what, long result) {
    printf("%s: %ld%s%s\n", what, result, result < 0 ? ", " : "", result < 0 ? strerror(errno) : "");
    errno = 0;
    return (int)result;
}

static int by_text(const void *a, const void *b) { return strcmp(a, b); }

static void list(const char *path) {
    char names[64][64];
    int count = 0;
    DIR *dir = opendir(path);
    if (!dir) {
        show(path, -1);
        return;
    }
    for (struct dirent *entry; count < 64 && (entry = readdir(dir));)
        snprintf(names[count++], 64, "%d %s", entry->d_type, entry->d_name);
    closedir(dir);
    qsort(names, count, sizeof names[0], by_text);
    printf("%s holds", path);
    for (int i = 0; i < count; i++) printf(" [%s]", names[i]);
    printf("\n");
}

static void text_files(void) {
    FILE *file = fopen("/notes.txt", "w+");
    show("fopen", file ? 0 : -1);
    for (int i = 0; i < 2000; i++) fprintf(file, "line %d of some length\n", i);
    show("ftell", ftell(file));
    show("fseek", fseek(file, -30, SEEK_END));
    char text[64] = {0};
    show("fread", (long)fread(text, 1, sizeof text - 1, file));
    printf("<%s>\n", text);
    rewind(file);
    show("fgets", fgets(text, sizeof text, file) != NULL);
    fclose(file);
    file = fopen("/notes.txt", "a");
    fputs("appended\n", file);
    fclose(file);
    struct stat st;
    show("stat", stat("/notes.txt", &st));
    printf("size %lld, links %d, regular %d\n", (long long)st.st_size, (int)st.st_nlink, S_ISREG(st.st_mode));
    show("missing", fopen("/no/such", "r") ? 0 : -1);
}

static void names(void) {
    show("mkdir", mkdir("/dir", 0777));
    show("mkdir again", mkdir("/dir", 0777));
    show("rename", rename("/notes.txt", "/dir/moved.txt"));
    show("rename missing", rename("/notes.txt", "/x"));
    show("link", link("/dir/moved.txt", "/dir/second"));
    show("symlink", symlink("second", "/dir/soft"));
    char target[16] = {0};
    show("readlink", readlink("/dir/soft", target, sizeof target - 1));
    printf("-> %s\n", target);
    for (int i = 0; i < 40; i++) {
        char name[32];
        snprintf(name, sizeof name, "/dir/file-%02d", i);
        int fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0666);
        write(fd, name, strlen(name));
        close(fd);
    }
    list("/dir");
    show("rmdir full", rmdir("/dir"));
    show("unlink dir", unlink("/dir"));
    DIR *dir = opendir("/dir");
    int removed = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        char name[300];
        snprintf(name, sizeof name, "/dir/%s", entry->d_name);
        if (entry->d_type != DT_DIR && unlink(name) == 0) removed++;
    }
    closedir(dir);
    show("removed at least", removed >= 20);
    list("/nowhere");
}

static void descriptors(void) {
    int fd = open("/data.bin", O_RDWR | O_CREAT | O_TRUNC, 0666);
    show("open", fd < 0 ? fd : 0);
    show("pwrite", pwrite(fd, "0123456789", 10, 5));
    char buffer[32] = {0};
    show("pread", pread(fd, buffer, 8, 3));
    printf("%d %d %.6s\n", buffer[0], buffer[1], buffer + 2);
    show("ftruncate", ftruncate(fd, 7));
    show("lseek", (long)lseek(fd, 0, SEEK_END));
    show("lseek back", (long)lseek(fd, -100, SEEK_CUR));
    show("append", fcntl(fd, F_SETFL, O_APPEND));
    show("flags", fcntl(fd, F_GETFL) & O_APPEND ? 1 : 0);
    show("unlink open", unlink("/data.bin"));
    show("write on", write(fd, "x", 1));
    struct stat st;
    show("fstat", fstat(fd, &st));
    printf("size %lld, links %d\n", (long long)st.st_size, (int)st.st_nlink);
    show("fsync", fsync(fd));
    show("close", close(fd));
    show("close again", close(fd));
    show("read a directory", read(open("/", O_RDONLY | O_DIRECTORY), buffer, 1));
    show("write to stdin", write(0, "x", 1));
    show("seek stdout", (long)lseek(1, 0, SEEK_CUR));
}

static void waiting(void) {
    struct pollfd fds[] = {{.fd = 0, .events = POLLIN}, {.fd = 1, .events = POLLOUT}};
    show("poll", poll(fds, 2, -1));
    printf("revents %d %d\n", fds[0].revents & POLLIN, fds[1].revents & POLLOUT);
    struct timespec before, after, pause = {.tv_nsec = 2000000};
    clock_gettime(CLOCK_MONOTONIC, &before);
    show("nanosleep", nanosleep(&pause, NULL));
    clock_gettime(CLOCK_MONOTONIC, &after);
    long long passed = (after.tv_sec - before.tv_sec) * 1000000000LL + after.tv_nsec - before.tv_nsec;
    show("slept long enough", passed >= 2000000);
    unsigned char random[64] = {0};
    int zeros = 0;
    show("getentropy", getentropy(random, sizeof random));
    for (size_t i = 0; i < sizeof random; i++) zeros += random[i] == 0;
    show("random", zeros < 16);
}

int main(void) {
    list("/");
    text_files();
    names();
    descriptors();
    waiting();
    list("/");
    return 7;
}
