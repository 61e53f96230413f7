// Package programtest runs the commands of the examples as a person does, who reads, looks and presses Ctrl-C.
package programtest

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"
)

// Run is a command that runs while a test reads what it says.
type Run struct {
	press context.CancelFunc
	lines *bufio.Scanner
	read  strings.Builder
	code  chan int
}

// Start starts a command. It is interrupted at the end of the test, if not before.
func Start(t *testing.T, command func(ctx context.Context, stdout io.Writer) int) *Run {
	t.Helper()
	ctx, press := context.WithCancel(t.Context())
	t.Cleanup(press)
	out, said := io.Pipe()
	r := &Run{press: press, lines: bufio.NewScanner(out), code: make(chan int, 1)}
	go func() {
		r.code <- command(ctx, said)
		said.Close()
	}()
	return r
}

// Until reads on to a line with a word in it, or to the end, and returns all that was read since the start.
func (r *Run) Until(word string) string {
	for r.lines.Scan() {
		r.read.WriteString(r.lines.Text() + "\n")
		if strings.Contains(r.lines.Text(), word) {
			break
		}
	}
	return r.read.String()
}

// Interrupt presses Ctrl-C and reads on to the end. It returns all that was read since the start, and what the command has ended with.
func (r *Run) Interrupt() (text string, code int) {
	r.press()
	for r.lines.Scan() {
		r.read.WriteString(r.lines.Text() + "\n")
	}
	return r.read.String(), <-r.code
}
