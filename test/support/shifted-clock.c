// The wall clock of a process that loads this library (LD_PRELOAD) is ahead by the seconds in the file SHIFTED_CLOCK.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long ahead(void) {
  static int file = -2;
  char digits[32] = {0};
  const char *path = getenv("SHIFTED_CLOCK");
  if (file == -2) file = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  return file >= 0 && pread(file, digits, sizeof digits - 1, 0) > 0 ? atol(digits) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  int result = syscall(SYS_clock_gettime, clock, now);
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) now->tv_sec += ahead();
  return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  struct timespec precise;
  clock_gettime(CLOCK_REALTIME, &precise);
  now->tv_sec = precise.tv_sec;
  now->tv_usec = precise.tv_nsec / 1000;
  (void)zone;
  return 0;
}

time_t time(time_t *seconds) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (seconds != NULL) *seconds = now.tv_sec;
  return now.tv_sec;
}
