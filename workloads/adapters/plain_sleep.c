/* Stands before libfaketime, which shows a program another wall clock: sleeps by every other clock are the kernel's own. As of 0.9.10
 * libfaketime shifts these too when the wall clock jumps, and they fail. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

typedef int sleeps(clockid_t, int, const struct timespec *, struct timespec *);

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *until, struct timespec *left) {
    if (clock == CLOCK_REALTIME && flags & TIMER_ABSTIME) return ((sleeps *)dlsym(RTLD_NEXT, "clock_nanosleep"))(clock, flags, until, left);
    return syscall(SYS_clock_nanosleep, clock, flags, until, left) ? errno : 0;
}
