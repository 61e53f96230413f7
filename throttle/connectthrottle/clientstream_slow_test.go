package connectthrottle_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/connectthrottle"
)

// wantLate checks how many calls of a throttle were late, and how many have no answer.
func wantLate(t *testing.T, what string, th *throttle.Throttle, late uint64, open int64) {
	t.Helper()
	s := th.Stats()
	var got uint64
	for _, p := range s.Priorities {
		got += p.Slow.Late
	}
	if got != late || s.Slow.Open != open {
		t.Errorf("%s: got %d late calls and %d without an answer, want %d and %d", what, got, s.Slow.Open, late, open)
	}
}

// TestSlow: the first message is what counts, on both sides. A stream may go on for any time.
func TestSlow(t *testing.T) {
	slowly := throttle.Config{Slow: 100 * time.Millisecond}
	for wait, late := range map[time.Duration]uint64{50 * time.Millisecond: 0, time.Second: 1} {
		everywhere(t, func(t *testing.T, protocol connect.ClientOption, procedure string) {
			client, calling := newClient(t, connectthrottle.ClientConfig{Throttle: slowly})
			server, serving := newServer(t, connectthrottle.ServerConfig{Throttle: slowly})
			p := open(t, handle(func(_ context.Context, _ http.Header, send func(string) error) error {
				time.Sleep(wait)
				if err := send("pear"); err != nil || procedure == buy || procedure == fill {
					return err
				}
				time.Sleep(time.Minute)
				return send("apple")
			}, serving), protocol, calling)
			must(t, p.call(t.Context(), procedure))
			synctest.Wait()
			wantLate(t, "client", member(t, client.Group(), host), late, 0)
			wantLate(t, "server", member(t, server.Group(), procedure), late, 0)
		})
	}
}
