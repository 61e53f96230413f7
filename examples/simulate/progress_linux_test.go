package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// openTerminal returns the two ends of a pseudo-terminal: what is written to the second one can be read from the first.
func openTerminal(t *testing.T) (screen, terminal *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		skip(t, err)
	}
	t.Cleanup(func() { screen.Close() })
	var number, unlocked int32
	for request, argument := range map[uintptr]*int32{syscall.TIOCSPTLCK: &unlocked, syscall.TIOCGPTN: &number} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, screen.Fd(), request, uintptr(unsafe.Pointer(argument))); errno != 0 {
			skip(t, errno)
		}
	}
	terminal, err = os.OpenFile("/dev/pts/"+strconv.Itoa(int(number)), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		skip(t, err)
	}
	t.Cleanup(func() { terminal.Close() })
	return screen, terminal
}

// skip skips a test where there are no pseudo-terminals, and fails it where all tests are to run.
func skip(t *testing.T, err error) {
	t.Helper()
	if os.Getenv("SPILLWAY_REQUIRE_SERVICES") == "1" {
		t.Fatalf("needs a pseudo-terminal: %v", err)
	}
	t.Skipf("needs a pseudo-terminal: %v", err)
}

// TestInterruptOnTerminal runs the command as a person does: the progress is on the screen, and after some runs comes Ctrl-C.
func TestInterruptOnTerminal(t *testing.T) {
	for _, policy := range []string{"tiered", "gobreaker"} {
		t.Run(policy, func(t *testing.T) {
			screen, terminal := openTerminal(t)
			var stdout bytes.Buffer
			cmd := itself(t, "-clients 2 -capacity 20 -seeds 1000 -format csv -policy "+policy)
			cmd.Stdout, cmd.Stderr = &stdout, terminal
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			terminal.Close() // so that reading ends with the process

			seen := readUntil(t, screen, regexp.MustCompile(`K[1-9]\d* of 1000 runs`))
			interrupt(t, cmd)
			rest, _ := io.ReadAll(screen) // returns an error when no process has the terminal open
			seen += string(rest)
			_ = cmd.Wait()

			if got := cmd.ProcessState.ExitCode(); got != exitInterrupted {
				t.Errorf("got exit code %d, want %d", got, exitInterrupted)
			}
			interrupted := regexp.MustCompile(`\r\x1b\[Ksimulate: interrupted: the output is of (\d+) runs out of 1000\r\n$`).FindStringSubmatch(seen)
			if interrupted == nil {
				t.Fatalf("got %q on the screen, want the line cleared, and then the number of runs", seen)
			}
			lines := strings.Split(stdout.String(), "\r\n")
			if want := fmt.Sprintf("over5,%s,%s,", policy, interrupted[1]); len(lines) != 3 || !strings.HasPrefix(lines[1], want) {
				t.Errorf("got\n%s\nwant a header and a line that begins with %s", stdout.String(), want)
			}
		})
	}
}

// readUntil reads what is written on the screen until it matches.
func readUntil(t *testing.T, screen io.Reader, want *regexp.Regexp) (seen string) {
	t.Helper()
	part := make([]byte, 1024)
	for !want.MatchString(seen) {
		n, err := screen.Read(part)
		if seen += string(part[:n]); err != nil {
			t.Fatalf("got %q on the screen and %v, want %v", seen, err, want)
		}
	}
	return seen
}
