/* Loaded before the C library by LD_PRELOAD: at the n-th call that changes what is on the disk, below one
 * folder and of the kinds that are counted, it does what a crash or a failing disk would do.
 *
 * Nothing happens before shim_arm() is called, so one loaded process can be forked for many runs. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WRITE = 1, SYNC = 2, RENAME = 4, CREATE = 8, REMOVE = 16, TRUNCATE = 32, FOLDER = 64 };
enum { KILL = 1, TEAR = 2, SHORTEN = 3, FAIL = 4, CUT = 5 };

#define EXT4_IOC_SHUTDOWN _IOR('X', 125, uint32_t)
#define NO_LOG_FLUSH 2
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static char folder[PATH_MAX];
static size_t folder_length;
static int action, kinds, mount;
static long first, last, detail, counted, fired;
static volatile int over;

/* Count from now on. FAIL hits the calls from to to with the error number what; TEAR and SHORTEN let
 * what per cent of a write through; CUT takes the power from the file system of path or its folder. */
void shim_arm(const char *path, int act, int of, long from, long to, long what) {
    snprintf(folder, sizeof folder, "%s", path);
    folder_length = strlen(folder);
    if (act == CUT && (mount = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        mount = open(dirname(strdupa(path)), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    kinds = of, first = from, last = to, detail = what, counted = 0, fired = 0;
    action = act;
}

/* How many calls were hit. */
long shim_fired(void) { return fired; }

static int below(const char *path) {
    return path && !strncmp(path, folder, folder_length) &&
           (path[folder_length] == '/' || path[folder_length] == 0);
}

static int opened_below(int fd) {
    char link[32], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length < 0 ? 0 : length] = 0;
    return below(path);
}

static void die(void) {
    uint32_t how = NO_LOG_FLUSH;
    over = 1;
    if (action == CUT && ioctl(mount, EXT4_IOC_SHUTDOWN, &how)) {
        perror("shim: the power could not be cut");
        _exit(2);
    }
    kill(getpid(), SIGKILL);
    pause();
}

/* Whether this call is one that is hit; a kill happens right here. */
static int hit(int kind, int counts) {
    if (!action || !(kinds & kind) || !counts)
        return 0;
    long n = __sync_add_and_fetch(&counted, 1);
    if (n < first || n > last)
        return 0;
    __sync_add_and_fetch(&fired, 1);
    if (action == KILL || action == CUT)
        die();
    return 1;
}

static size_t part_of(size_t size) { return size * detail / 100; }

#define FAILS(kind, counts)                 \
    if (hit(kind, counts)) {                \
        errno = detail;                     \
        return -1;                          \
    }

/* A write that is hit is cut to a part; torn, it is the last thing the process does. */
#define CUT_SHORT(counts, size, call)       \
    if (hit(WRITE, counts)) {               \
        if (action == FAIL) {               \
            errno = detail;                 \
            return -1;                      \
        }                                   \
        size = part_of(size);               \
        if (action == TEAR) {               \
            if (size && (call) < 0)         \
                perror("shim");             \
            die();                          \
        }                                   \
    }

/* While one thread takes the power away, no other may tell the world anything: what the file system
 * answers in that moment is not true. */
ssize_t write(int fd, const void *data, size_t size) {
    while (over)
        pause();
    CUT_SHORT(action && opened_below(fd), size, REAL(write)(fd, data, size));
    return REAL(write)(fd, data, size);
}

#define PWRITE(name, offset_type)                                                      \
    ssize_t name(int fd, const void *data, size_t size, offset_type at) {              \
        CUT_SHORT(action && opened_below(fd), size, REAL(name)(fd, data, size, at));   \
        return REAL(name)(fd, data, size, at);                                         \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

/* A vector that is hit is cut to a part of its first piece. */
ssize_t writev(int fd, const struct iovec *pieces, int count) {
    struct iovec piece = count > 0 ? pieces[0] : (struct iovec){0};
    size_t before = piece.iov_len;
    CUT_SHORT(action && opened_below(fd), piece.iov_len, REAL(write)(fd, piece.iov_base, piece.iov_len));
    return piece.iov_len == before ? REAL(writev)(fd, pieces, count)
                                   : REAL(write)(fd, piece.iov_base, piece.iov_len);
}

#define ON_DESCRIPTOR(name, kind)                      \
    int name(int fd) {                                 \
        FAILS(kind, action && opened_below(fd));       \
        return REAL(name)(fd);                         \
    }
ON_DESCRIPTOR(fsync, SYNC)
ON_DESCRIPTOR(fdatasync, SYNC)

#define TRUNCATES(name, offset_type)                   \
    int name(int fd, offset_type size) {               \
        FAILS(TRUNCATE, action && opened_below(fd));   \
        return REAL(name)(fd, size);                   \
    }
TRUNCATES(ftruncate, off_t)
TRUNCATES(ftruncate64, off64_t)

int rename(const char *from, const char *to) {
    FAILS(RENAME, action && below(to));
    return REAL(rename)(from, to);
}

int renameat(int from_folder, const char *from, int to_folder, const char *to) {
    FAILS(RENAME, action && below(to));
    return REAL(renameat)(from_folder, from, to_folder, to);
}

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
    FAILS(RENAME, action && below(to));
    return REAL(renameat2)(from_folder, from, to_folder, to, flags);
}

int unlink(const char *path) {
    FAILS(REMOVE, action && below(path));
    return REAL(unlink)(path);
}

int mkdir(const char *path, mode_t mode) {
    FAILS(FOLDER, action && below(path));
    return REAL(mkdir)(path, mode);
}

#define OPENS(name)                                                                        \
    int name(const char *path, int flags, ...) {                                           \
        va_list more;                                                                      \
        va_start(more, flags);                                                             \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;            \
        va_end(more);                                                                      \
        FAILS(CREATE, action && flags & O_CREAT && below(path) && access(path, F_OK));     \
        return REAL(name)(path, flags, mode);                                              \
    }
OPENS(open)
OPENS(open64)
