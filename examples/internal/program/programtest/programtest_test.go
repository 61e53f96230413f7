package programtest

import (
	"context"
	"fmt"
	"io"
	"net"
	"testing"
)

func TestARunIsReadAndInterrupted(t *testing.T) {
	r := Start(t, func(ctx context.Context, stdout io.Writer) int {
		fmt.Fprint(stdout, "one\ntwo\nthree\n")
		<-ctx.Done()
		fmt.Fprintln(stdout, "interrupted")
		return 7
	})
	if got, want := r.Until("w"), "one\ntwo\n"; got != want {
		t.Errorf("until a word: got %q want %q", got, want)
	}
	text, code := r.Interrupt()
	if want := "one\ntwo\nthree\ninterrupted\n"; text != want || code != 7 {
		t.Errorf("at the end: got %q and code %d want %q and 7", text, code, want)
	}
}

func TestUntilEndsWithTheCommand(t *testing.T) {
	r := Start(t, func(_ context.Context, stdout io.Writer) int {
		fmt.Fprintln(stdout, "one")
		return 0
	})
	if got, want := r.Until("never said"), "one\n"; got != want {
		t.Errorf("got %q want %q", got, want)
	}
}

// loiter is what a test leaves behind.
func loiter(here chan<- bool, until <-chan bool) {
	here <- true
	<-until
}

func TestQuietSeesWhoLoiters(t *testing.T) {
	here, until := make(chan bool), make(chan bool)
	go loiter(here, until)
	<-here
	if got := len(goroutines([]string{"never called", "programtest.loiter"})); got != 1 {
		t.Errorf("goroutines: got %d want 1", got)
	}
	if got := len(goroutines([]string{"never called"})); got != 0 {
		t.Errorf("goroutines with another word: got %d want none", got)
	}
	close(until)
	Quiet(t, "programtest.loiter")
}

func TestNobodyElseCanListenAtATakenAddress(t *testing.T) {
	if listener, err := net.Listen("tcp", TakenAddress(t)); err == nil {
		_ = listener.Close()
		t.Error("Listen: got no error want one")
	}
}
