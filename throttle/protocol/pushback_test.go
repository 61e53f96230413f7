package protocol_test

import (
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/protocol"
)

func TestPushback(t *testing.T) {
	for values, want := range map[string]struct {
		delay time.Duration
		stop  bool
	}{
		"":                    {0, false},
		"0":                   {0, false},
		"1500":                {1500 * time.Millisecond, false},
		"-1":                  {time.Second, true},
		"soon":                {time.Second, true},
		"1 1":                 {time.Second, true},
		"9999999999999999999": {time.Second, true},
	} {
		delay, stop := protocol.Pushback(strings.Fields(values))
		if delay != want.delay || stop != want.stop {
			t.Errorf("%q: got %v, %t want %v, %t", values, delay, stop, want.delay, want.stop)
		}
	}
}
