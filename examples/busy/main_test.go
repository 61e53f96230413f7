package main

import (
	"bufio"
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/examples/internal/program"
	"github.com/spillway-go/spillway/examples/internal/program/programtest"
)

// TestMain is a server process if a test has started it as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == serverCommand {
		main()
	}
	os.Exit(m.Run())
}

func TestFlags(t *testing.T) {
	programtest.Refuses(t, command, map[string]string{
		"-addr localhost":   `for flag -addr: want host:port, such as 127.0.0.1:8080`,
		"-handler 999us":    `invalid value "999us" for flag -handler: want a duration such as 5ms, from 1ms to 50ms`,
		"-handler 51ms":     `want a duration such as 5ms`,
		"-load 10.1":        `invalid value "10.1" for flag -load: want 0 to 10 times the capacity`,
		"-load -1":          `want 0 to 10 times the capacity`,
		"-seconds 86401":    `invalid value "86401" for flag -seconds: want 0 to 86400 seconds`,
		"-open server":      `"server" is not a flag`,
		"-load 1 -load 100": `want 0 to 10 times the capacity`,
	})
	programtest.Explains(t, command, "-addr", "-open", "-handler", "-load", "-seconds")
}

// TestBothServersAnswer runs the program with its real servers, and has no opinion about how fast they are.
func TestBothServersAnswer(t *testing.T) {
	var stdout, stderr strings.Builder
	code := command(t.Context(), strings.Fields("-addr 127.0.0.1:0 -handler 1ms -load 0.2 -seconds 3"), &stdout, &stderr)
	if code != program.Done || stderr.Len() > 0 {
		t.Fatalf("got code %d and %q want 0 and no error", code, stderr.String())
	}
	line := regexp.MustCompile(`(?m)^ +\d+ s +0\.2x +(\d+) .* (\d+)( +[-\d]+){7}$`)
	good := [3]bool{}
	lines := line.FindAllStringSubmatch(stdout.String(), -1)
	for _, columns := range lines {
		for i := 1; i < 3; i++ {
			good[i] = good[i] || columns[i] != "0"
		}
	}
	if len(lines) != 3 || !good[1] || !good[2] {
		t.Errorf("got\n%s\nwant 3 lines, with good answers of both servers", stdout.String())
	}
	programtest.Quiet(t, "examples/busy.", "net/http.(*persistConn)")
}

// TestCtrlC interrupts the program while both servers are overloaded.
func TestCtrlC(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	code := make(chan int, 1)
	go func() {
		code <- command(ctx, strings.Fields("-addr 127.0.0.1:0 -load 10"), writer, writer)
		writer.Close()
	}()
	lines := bufio.NewScanner(reader)
	for lines.Scan() && !strings.Contains(lines.Text(), "10.0x") {
	}
	interrupt()
	for lines.Scan() {
		if strings.Contains(lines.Text(), "busy:") {
			t.Errorf("got %q want no error", lines.Text())
		}
	}
	equal(t, "code", <-code, program.Done)
}
