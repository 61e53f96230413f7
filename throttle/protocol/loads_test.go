package protocol_test

import (
	"context"
	"errors"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/protocol"
)

// overloaded returns a throttle whose backend is full.
func overloaded() *throttle.Throttle {
	th := throttle.Must(throttle.New(throttle.Config{Name: "shop"}))
	for range 100 {
		_ = th.Do(context.Background(), throttle.Low, func(context.Context) error {
			return throttle.MarkOverloaded(errors.New("full"))
		})
	}
	return th
}

// TestLoads passes reports from servers to clients.
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
				protocol.ReceiveLoad(byHeader, loads.Header(c.server))
				protocol.ReceiveBinaryLoad(byTrailer, []string{loads.Trailer(c.server)})
				for _, client := range []*throttle.Throttle{byHeader, byTrailer} {
					_ = client.Do(context.Background(), throttle.Low, func(context.Context) error { return nil })
				}
			}
			for name, client := range map[string]*throttle.Throttle{"header": byHeader, "trailer": byTrailer} {
				if got := client.Stats().Priorities[throttle.Low].Told > 0; got != c.overloaded {
					t.Errorf("%s of the server %s: the client sheds: %v want %v", name, c.server.Name(), got, c.overloaded)
				}
			}
		}
	}
	off := throttle.Must(throttle.New(throttle.Config{Name: "off", Mode: throttle.ModeOff}))
	if h, b := loads.Header(off), loads.Trailer(off); h != nil || b != "" {
		t.Errorf("ModeOff: got %q and %q, want nothing", h, b)
	}
	protocol.ReceiveLoad(calm, nil)
	protocol.ReceiveBinaryLoad(calm, []string{"\xff"})
	if calm.Stats().Received.Known {
		t.Error("no report: got one that counts")
	}
}

func BenchmarkLoads(b *testing.B) {
	client := throttle.Must(throttle.New(throttle.Config{Name: "client"}))
	for name, server := range map[string]*throttle.Throttle{
		"calm": throttle.Must(throttle.New(throttle.Config{Name: "calm"})), "overloaded": overloaded(),
	} {
		var loads protocol.Loads
		b.Run(name+"/tell", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = loads.Header(server)
			}
		})
		header, trailer := loads.Header(server), []string{loads.Trailer(server)}
		b.Run(name+"/receive", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				protocol.ReceiveLoad(client, header)
			}
		})
		b.Run(name+"/receive binary", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				protocol.ReceiveBinaryLoad(client, trailer)
			}
		})
	}
}
