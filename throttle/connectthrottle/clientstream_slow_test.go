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
			for _, th := range []*throttle.Throttle{member(t, client.Group(), host), member(t, server.Group(), procedure)} {
				if got := th.Stats().Priorities[throttle.Medium].Slow.Late; got != late {
					t.Errorf("%s, %v until the message: got %d late calls want %d", th.Name(), wait, got, late)
				}
			}
		})
	}
}
