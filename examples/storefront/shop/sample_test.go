package shop_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/spillway-go/spillway/examples/storefront/shop"
)

func TestSampleAsJSON(t *testing.T) {
	sample := shop.Sample{
		Millis: 1_700_000_000_123, Span: time.Second, Offered: 1600.00004, Sent: 441.25, Served: 390, Shed: 1159, Available: 400,
		Goodput: 0.97561, Twin: shop.TwinSample{Served: 100.2, Goodput: shop.Figure(math.NaN()), Latency: 499.96},
		Kinds:    []shop.KindSample{{Kind: "checkout", Priority: "high", Offered: 160, Success: 0.88, Probability: 0.12345, InFlight: 2, Latency: shop.Figure(math.NaN())}},
		Slow:     100,
		Settings: shop.Calm(),
	}
	got, err := json.Marshal(sample)
	const want = `{"at":1700000000123,"offered":1600,"sent":441.25,"served":390,"shed":1159,"available":400,"goodput":0.9756,` +
		`"twin":{"served":100.2,"goodput":null,"latency":499.96},` +
		`"kinds":[{"kind":"checkout","priority":"high","offered":160,"served":0,"success":0.88,"shed":0,"cached":0,"probability":0.1235,"in_flight":2,"latency":null}],` +
		`"slow":100,"settings":{"load":0.8,"capacity":400,"backend":"up","throttle":"on","policy":"tiered"}}`
	if err != nil || string(got) != want {
		t.Errorf("Marshal: got %s, error %v\nwant %s", got, err, want)
	}
}

// TestWords reads and writes the words of backend and throttle.
func TestWords(t *testing.T) {
	for _, want := range []shop.Settings{{Backend: shop.Slow}, {Throttled: true, Backend: shop.Brownout}, {Backend: shop.Down}} {
		text, err := json.Marshal(want)
		got := shop.Settings{}
		if err2 := json.Unmarshal(text, &got); err != nil || err2 != nil || got != want {
			t.Errorf("%s: got %+v, errors %v, %v want %+v", text, got, err, err2, want)
		}
	}
	for text, want := range map[string]string{
		`{"backend":"UP"}`: `backend is "UP": want up, brownout, slow or down`, `{"throttle":""}`: `throttle is "": want on or off`,
	} {
		if err := json.Unmarshal([]byte(text), new(shop.Settings)); err == nil || err.Error() != want {
			t.Errorf("%s: got error %v want %s", text, err, want)
		}
	}
}
