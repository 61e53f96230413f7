package narrator

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestALineHasItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text strings.Builder
		n := New(&text)
		n.Printf("%d workers\n", 3)
		time.Sleep(1500 * time.Millisecond)
		n.Act("Act %d", 1)
		n.Line("%d calls", 7)
		if got, want := text.String(), "3 workers\n\nAct 1\n   1.5 s  7 calls\n"; got != want || n.Err() != nil {
			t.Errorf("story: got %q, error %v want %q", got, n.Err(), want)
		}
	})
}

// full is a terminal that takes nothing, and has another reason each time.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestNarratorKeepsTheFirstError(t *testing.T) {
	n := New(full{})
	n.Line("hello")
	first := n.Err()
	if wrote, err := n.Write([]byte("again")); wrote != 5 || err != nil {
		t.Errorf("Write: got %d, error %v want 5 and nil", wrote, err)
	}
	if first == nil || !errors.Is(n.Err(), first) {
		t.Errorf("narrator: got error %v want the first one, %v", n.Err(), first)
	}
}

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		12345 * time.Millisecond: "12.3s", 1234 * time.Millisecond: "1.23s", 123456 * time.Microsecond: "123ms", 1234 * time.Microsecond: "1.2ms", 0: "0s",
	} {
		if got := Span(d); got != want {
			t.Errorf("span of %d: got %s want %s", d, got, want)
		}
	}
}
