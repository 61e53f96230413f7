package program

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// clockSource replaces the functions of the C library that read the clock.
const clockSource = `#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t id, struct timespec *t) {
  int r = syscall(SYS_clock_gettime, id, t);
  if (r == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) t->tv_sec += AHEAD;
  return r;
}
int gettimeofday(struct timeval *t, void *zone) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  t->tv_sec = now.tv_sec;
  t->tv_usec = now.tv_nsec / 1000;
  return 0;
}
time_t time(time_t *t) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (t) *t = now.tv_sec;
  return now.tv_sec;
}
`

// Clock is the clock of a server. The zero Clock is that of the machine. A server reads another one
// after Restart.
type Clock struct{ library, zone string }

// SetClock makes the clock differ from that of the machine by whole seconds. A negative time is behind.
func (c *Clock) SetClock(t testing.TB, ahead time.Duration) {
	t.Helper()
	dir, err := os.MkdirTemp("", "clock") //nolint:usetesting // t.TempDir is closed to other users, such as that of PostgreSQL
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	library := filepath.Join(dir, "clock.so")
	compile := exec.Command(Find(t, "gcc", "gcc", "cc"), "-shared", "-fPIC", "-DAHEAD=("+strconv.Itoa(int(ahead/time.Second))+")", "-x", "c", "-", "-o", library)
	compile.Stdin = strings.NewReader(clockSource)
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v:\n%s", compile, err, out)
	}
	c.library = library
}

// start starts a program that reads the clock.
func (c *Clock) start(t testing.TB, path string, flags ...string) *Process {
	t.Helper()
	var with []string
	if c.library != "" {
		with = append(with, "LD_PRELOAD="+c.library)
	}
	if c.zone != "" {
		with = append(with, "TZ="+c.zone)
	}
	if with == nil {
		return Start(t, path, flags...)
	}
	p := Start(t, "env", append(append(with, path), flags...)...)
	p.name = filepath.Base(path)
	return p
}
