package protocol_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/protocol"
)

func overloaded() *throttle.Throttle {
	th := throttle.Must(throttle.New(throttle.Config{Name: "shop"}))
	for range 100 {
		_ = th.Do(context.Background(), throttle.Low, func(context.Context) error {
			return throttle.MarkOverloaded(errors.New("full"))
		})
	}
	return th
}

func TestLoads(t *testing.T) {
	var loads protocol.Loads
	calm := throttle.Must(throttle.New(throttle.Config{Name: "calm"}))
	for range 2 {
		for _, c := range []struct {
			server     *throttle.Throttle
			overloaded bool
		}{{calm, false}, {overloaded(), true}, {calm, false}} {
			byHeader := throttle.Must(throttle.New(throttle.Config{Name: "client"}))
			byTrailer := throttle.Must(throttle.New(throttle.Config{Name: "client"}))
			for range 3 {
				protocol.ReceiveLoad(byHeader, loads.Header(c.server, true))
				protocol.ReceiveBinaryLoad(byTrailer, []string{loads.Trailer(c.server, true)})
				for _, client := range []*throttle.Throttle{byHeader, byTrailer} {
					_ = client.Do(context.Background(), throttle.Low, func(context.Context) error { return nil })
				}
			}
			for name, client := range map[string]*throttle.Throttle{"header": byHeader, "trailer": byTrailer} {
				if err := client.Tune(throttle.Patch{}); err != nil { // a calm server counts from the next refresh of the decisions
					t.Fatal(err)
				}
				got := client.Stats()
				if told := got.Priorities[throttle.Low].Told > 0; told != c.overloaded || got.Received.Calm == c.overloaded {
					t.Errorf("%s of the server %s: received %+v, the client sheds: %v", name, c.server.Name(), got.Received, told)
				}
			}
		}
	}
	off := throttle.Must(throttle.New(throttle.Config{Name: "off", Mode: throttle.ModeOff}))
	if h, b := loads.Header(off, true), loads.Trailer(off, true); h != nil || b != "" {
		t.Errorf("ModeOff: got %q and %q, want nothing", h, b)
	}
	protocol.ReceiveLoad(calm, nil)
	protocol.ReceiveBinaryLoad(calm, []string{"\xff"})
	if calm.Stats().Received.Known {
		t.Error("no report: got one that counts")
	}
}

// TestLoads_calm wants a report in each answer at first, and for ten seconds after an overload. Then it wants one in eight,
// and one in each failure.
func TestLoads_calm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var loads protocol.Loads
		th := throttle.Must(throttle.New(throttle.Config{Name: "calm"}))
		// answers returns how many of 8000 answers have a report.
		answers := func(failed bool) (n int) {
			for range 8000 {
				h, b := loads.Header(th, failed), loads.Trailer(th, failed)
				if r, ok := protocol.ParseLoad(h); ok {
					n += max(1, r.Answers)
				}
				if r, ok := protocol.ParseBinaryLoad([]string{b}); ok && r.Overloaded {
					t.Error("got an overload")
				}
			}
			return n
		}
		wantSeldom := func(when string) {
			t.Helper()
			if n := answers(false); n < 7000 || n > 9000 {
				t.Errorf("%s: the reports are for %d of 8000 answers", when, n)
			}
			sent := 0
			for range 8000 {
				if loads.Header(th, false) != nil {
					sent++
				}
			}
			if sent < 850 || sent > 1150 {
				t.Errorf("%s: %d of 8000 answers have a report, want 1000", when, sent)
			}
		}
		for i := range 100 {
			if r, ok := protocol.ParseLoad(loads.Header(th, false)); !ok || r.Answers != 0 {
				t.Errorf("the answer %d: got %+v, %v", i, r, ok)
			}
		}
		wantSeldom("then")
		loads.Header(overloaded(), true)
		for range 2 {
			if n := answers(false); n != 8000 {
				t.Errorf("after an overload: the reports are for %d of 8000 answers", n)
			}
			time.Sleep(9 * time.Second)
		}
		wantSeldom("18 s later")
		if n := answers(true); n != 8000 {
			t.Errorf("failures: the reports are for %d of 8000 answers", n)
		}
	})
}
