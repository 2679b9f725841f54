/* Put before a program, this gives it a wall clock that is off by what a shared file says.
   The monotonic clock stays as it is: libfaketime cannot leave it alone for Python's sleep. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const long none = 0;
static const volatile long *off;

static const volatile long *opened(void)
{
    const char *name = getenv("STORM_WALL_CLOCK");
    int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    void *there = MAP_FAILED;

    if (file >= 0) {
        there = mmap(0, sizeof none, PROT_READ, MAP_SHARED, file, 0);
        close(file);
    }
    return there == MAP_FAILED ? &none : there;
}

int clock_gettime(clockid_t clock, struct timespec *moment)
{
    int result = syscall(SYS_clock_gettime, clock, moment);

    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        if (!off)
            off = opened();
        moment->tv_sec += *off;
    }
    return result;
}

int gettimeofday(struct timeval *restrict moment, void *restrict zone)
{
    struct timespec now;
    int result = clock_gettime(CLOCK_REALTIME, &now);

    (void)zone;
    moment->tv_sec = now.tv_sec;
    moment->tv_usec = now.tv_nsec / 1000;
    return result;
}

time_t time(time_t *kept)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    if (kept)
        *kept = now.tv_sec;
    return now.tv_sec;
}
