package shop_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/examples/storefront/shop"
)

func TestSampleAsJSON(t *testing.T) {
	sample := shop.Sample{
		At: time.UnixMilli(1_700_000_000_123), Span: time.Second, Offered: 1600.04, Sent: 441.26, Served: 390, Shed: 1159, Available: 400,
		Goodput: 0.97561, Twin: shop.TwinSample{Served: 100.24, Goodput: shop.Ratio(math.NaN()), Latency: 499.96},
		Kinds:    []shop.KindSample{{Kind: "checkout", Priority: "high", Offered: 160, Served: 141, Success: 0.88, Shed: 1.26, Probability: 0.12345, InFlight: 2, Latency: shop.Milliseconds(math.NaN())}},
		Slow:     100,
		Settings: shop.Calm(),
	}
	got, err := json.Marshal(sample)
	const want = `{"at":1700000000123,"offered":1600,"sent":441.3,"served":390,"shed":1159,"available":400,"goodput":0.9756,` +
		`"twin":{"served":100.2,"goodput":null,"latency":500},` +
		`"kinds":[{"kind":"checkout","priority":"high","offered":160,"served":141,"success":0.88,"shed":1.3,"cached":0,"probability":0.1235,"in_flight":2,"latency":null}],` +
		`"slow":100,"settings":{"load":0.8,"capacity":400,"backend":"up","throttle":"on","policy":"tiered"}}`
	if err != nil || string(got) != want {
		t.Errorf("Marshal: got %s, error %v\nwant %s", got, err, want)
	}
	if sample.Kinds[0].Shed != 1.26 {
		t.Errorf("shed after Marshal: got %v want 1.26 as before", sample.Kinds[0].Shed)
	}
}

func TestParseHealth(t *testing.T) {
	for _, h := range []shop.Health{shop.Up, shop.Brownout, shop.Slow, shop.Down} {
		if got, err := shop.ParseHealth(h.String()); got != h || err != nil {
			t.Errorf("ParseHealth(%q): got %v, error %v want %v", h, got, err, h)
		}
	}
	for _, word := range []string{"", "UP", "sick", "health(3)"} {
		if got, err := shop.ParseHealth(word); err == nil || !strings.Contains(err.Error(), "want up, brownout, slow or down") {
			t.Errorf("ParseHealth(%q): got %v, error %v want an error with the words", word, got, err)
		}
	}
}
