package control_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/control"
)

// fleet is a document for two services in two clusters.
const fleet = `{
	"throttles": {"stock": {"ratio": 3, "optional": true}},
	"services": [
		{"match": {"service": "shop"}, "throttles": {"stock": {"ratio": 4}}},
		{"match": {"service": "shop", "cluster": "eu"}, "throttles": {"stock": {"mode": "off", "reason": "INC-7"}}},
		{"match": {"service": "mail"}, "buckets": {"sent": {"capacity": 50}}}
	]
}`

func newLabeled(t testing.TB, labels map[string]string) *control.Control {
	t.Helper()
	c := throttle.Must(control.New(control.Config{Labels: labels}))
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestDocument_services applies one document in processes of a fleet.
func TestDocument_services(t *testing.T) {
	for _, tt := range []struct{ service, cluster, want string }{
		{"shop", "us", "4 enforce"}, {"shop", "eu", "2 off"}, {"search", "eu", "3 enforce"},
	} {
		c := newLabeled(t, map[string]string{"service": tt.service, "cluster": tt.cluster})
		th := newThrottle(t, c, "stock")
		apply(t, c, fleet)
		if s := th.Stats(); fmt.Sprint(s.Ratio, " ", s.Mode) != tt.want {
			t.Errorf("%s in %s: got %v %v want %s", tt.service, tt.cluster, s.Ratio, s.Mode, tt.want)
		}
		apply(t, c, "{}")
		if s := th.Stats(); s.Ratio != 2 || s.Mode != throttle.ModeEnforce {
			t.Errorf("%s in %s, after it: got %v %v", tt.service, tt.cluster, s.Ratio, s.Mode)
		}
	}
}

// TestDocument_services_refuses what is wrong in any part, and changes nothing then.
func TestDocument_services_refuses(t *testing.T) {
	shop := map[string]string{"service": "shop", "cluster": "eu"}
	for _, tt := range []struct {
		name, text, want string
		labels           map[string]string
	}{
		{
			"label that is not there", `{"match": {"sevrice": "shop"}, "throttles": {"stock": {"ratio": 3}}}`,
			`services[0]: match: Config.Labels has no "sevrice": want some of ["cluster" "service"]`, shop,
		},
		{"no labels", `{"match": {"service": "shop"}, "throttles": {"stock": {"ratio": 3}}}`, `has no "service"`, nil},
		{"name", `{"match": {"service": "shop"}, "throttles": {"stok": {"ratio": 3}}}`, `throttle "stok": unknown name`, shop},
		{"null", `{"match": {"service": "mail"}, "throttles": {"stock": null}}`, `services[0]: control: throttle "stock": line is null`, shop},
		{"line of another service", `{"match": {"service": "mail"}, "throttles": {"sent": {"reason": "x"}}}`, `throttle "sent": line sets nothing`, shop},
	} {
		c := newLabeled(t, tt.labels)
		th := newThrottle(t, c, "stock")
		_, err := c.Apply(t.Context(), parse(t, `{"throttles": {"stock": {"ratio": 9}}, "services": [`+tt.text+`]}`))
		if err == nil || !strings.Contains(err.Error(), tt.want) || th.Stats().Ratio != 2 {
			t.Errorf("%s: got ratio %v and error %v want 2 and %s", tt.name, th.Stats().Ratio, err, tt.want)
		}
	}
	if _, err := control.New(control.Config{Labels: map[string]string{"service": ""}}); err == nil || !strings.Contains(err.Error(), `Labels: label "service"`) {
		t.Errorf("label without a value: got error %v", err)
	}
}
