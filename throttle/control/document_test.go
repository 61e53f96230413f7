package control_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/control"
)

func TestParseDocument_refuses(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"empty", "", "not a JSON object"},
		{"null", "null", "not a JSON object"},
		{"array", "[]", "not a JSON object"},
		{"YAML", "throttles:\n  stock:\n    mode: off\n", `not a JSON object, it begins with "throttles:\n "`},
		{"byte order mark", "\ufeff{}", `it begins with "\ufeff{}"`},
		{"line of a mode", "{\n\"throttles\": {\n\"stock\": {\"mode\": \"of\"}\n},\n\"breakers\": {}\n}", "line 3: "},
		{"line of a field", "{\n\"throttles\": {\n\"stock\": {\"mod\": \"off\"}\n},\n\"breakers\": {}\n}", `line 3: json: unknown field "mod"`},
		{"line of a duration", "{\n\"throttles\": {\n\"a\": {\"ratio\": 3},\n\"stock\": {\"slow\": \"2\"}\n},\n\"breakers\": {}\n}", "line 4: "},
		{"line of a kind", "{\n\"throttles\": {\n\"a\": {\"ratio\": 3}\n},\n\"breaker\": {}\n}", "line 5: "},
		{"line of the end", "{\n\"throttles\": {\n\"a\": {", "line 3: "},
		{"mode", `{"throttles": {"stock": {"mode": "of"}}}`, "enforce, shadow or off"},
		{"number as text", `{"throttles": {"stock": {"ratio": "3"}}}`, "cannot unmarshal string"},
		{"too large number", `{"throttles": {"stock": {"ratio": 1e999}}}`, "1e999"},
		{"duration", `{"throttles": {"stock": {"slow": "200"}}}`, `"200" is not a duration: want one such as 200ms`},
		{"duration as number", `{"throttles": {"stock": {"slow": 200}}}`, "number"},
		{"time", `{"throttles": {"stock": {"until": "tomorrow"}}}`, `"tomorrow"`},
		{"two documents", "{} {}", "text after the end"},
		{"text after it", "{} \"throttles\"", "text after the end"},
		{"rest of a longer one", `{"throttles": {}}}`, "invalid character '}'"},
		{"name twice", `{"throttles": {"stock": {"ratio": 3}, "stock": {"ratio": 4}}}`, `"stock" is there twice`},
		{"field twice", "{\"throttles\": {\"stock\": {\"ratio\": 3,\n\"Ratio\": 4}}}", `line 2: "Ratio" is there twice`},
		{"field twice, with a long s", "{\"throttles\": {\"stock\": {\"slow\": \"1s\", \"\u017flow\": \"2s\"}}}", "is there twice"},
		{"kind twice", `{"throttles": {}, "THROTTLES": {}}`, `"THROTTLES" is there twice`},
		{"services without match", `{"services": [{"throttles": {}}]}`, "services[0].match is missing: want labels"},
		{"services, no match", `{"services": [{"match": {"service": "a"}}, {"match": {}}]}`, "services[1].match is missing"},
		{"label without a value", `{"services": [{"match": {"service": ""}}]}`, `services[0].match: label "service": name has 0 bytes`},
		{"services in services", `{"services": [{"match": {"a": "b"}, "services": [{"match": {"a": "b"}}]}]}`, "services[0].services: a part has no parts"},
		{"services as an object", "{\n\"services\": {\"shop\": {}}}", "line 2: json: cannot unmarshal object"},
		{"line of a field of services", "{\"services\": [\n{\"match\": {\"a\": \"b\"}},\n{\"match\": {\"a\": \"b\"},\n\"throttles\": {\"stock\": {\"mod\": \"off\"}}}]}", `line 4: json: unknown field "mod"`},
		{"line after services", "{\"services\": [{\"match\": {\"a\": \"b\"}}],\n\"throttles\": {\n\"stock\": {\"mod\": \"off\"}}}", `line 3: json: unknown field "mod"`},
		{"line after null", "{\"throttles\": null, \"services\": null,\n\"breakers\": {\"x\": {\"mod\": \"off\"}}}", `line 2: json: unknown field "mod"`},
		{"label twice", `{"services": [{"match": {"a": "b", "a": "c"}}]}`, `"a" is there twice`},
		{"field of services twice", `{"services": [{"match": {"a": "b"}, "Match": {"c": "d"}}]}`, `"Match" is there twice`},
		{"name twice in services", `{"services": [{"match": {"a": "b"}, "throttles": {"x": {"ratio": 2}, "x": {"ratio": 3}}}]}`, `"x" is there twice`},
		{"too many services", `{"services": [` + strings.Repeat(`{"match": {"a": "b"}},`, 1000) + `{"match": {"a": "b"}}]}`, "services has 1001 parts: want at most 1000"},
		{"too long", strings.Repeat(" ", control.MaxDocument) + "{}", "more than 1048576 bytes"},
	} {
		if _, err := control.ParseDocument([]byte(tt.text)); err == nil || !strings.HasPrefix(err.Error(), "control: ") || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v want %s", tt.name, err, tt.want)
		}
	}
}

// TestParseDocument_namesDifferInCase, unlike fields.
func TestParseDocument_namesDifferInCase(t *testing.T) {
	const names = `"throttles": {"a": {"ratio": 3}, "A": {"ratio": 4}}`
	d := parse(t, `{`+names+`, "services": [{"match": {"x": "y", "X": "y"}, `+names+`}]}`)
	if len(d.Throttles) != 2 || *d.Throttles["a"].Ratio != 3 || len(d.Services[0].Throttles) != 2 || len(d.Services[0].Match) != 2 {
		t.Errorf("got %+v", d)
	}
}

// TestDocument_comment is valid: the one that users copy first.
func TestDocument_comment(t *testing.T) {
	source, err := os.ReadFile("document.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(source), "As JSON:\n//\n")
	text, _, _ := strings.Cut(rest, "\n//\n")
	d := parse(t, strings.ReplaceAll(text, "//", ""))
	if d.Throttles["stock"].By != "ana" || !d.Throttles["search"].Optional || *d.Buckets["api"].Period != throttle.Duration(time.Second) {
		t.Errorf("got %+v", d)
	}
}

// FuzzDocument: no document panics. One that is applied is the same after another round, and one that is refused changes
// nothing.
func FuzzDocument(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "null", five, five[:len(five)/2], off,
		`{"throttles": {"stock": {"ratio": 1e308, "minimum_rate": -0, "background": 0.5, "slow": "1h", "slow_gate": "off"}}}`,
		`{"throttles": {"stock": null, "": {}, "../x": {"mode": "off", "optional": true}}}`,
		`{"buckets": {"api": {"capacity": 9223372036854775807, "refill": 1, "period": "1ns"}}}`,
		`{"buckets": {"api": {"capacity": 0, "refill": -1, "period": "-1s", "optional": true}}}`,
		`{"backoffs": {"table": {"max_interval": "2562047h47m16.854775807s", "for": "2562047h47m"}}}`,
		`{"retries": {"orders": {"mode": "off", "attempts": 0, "share": 1e-9, "reserve": -1}}}`,
		`{"breakers": {"payments": {"mode": "off", "until": "0000-01-01T00:00:00Z"}}}`,
		`{"throttles": {"stock": {"mode": "off", "until": "9999-12-31T23:59:59.999999999+23:59"}}}`,
		"{\"throttles\": {\"\xff\": {\"mode\": \"off\", \"optional\": true}}}", `{"a":{"a":{"a":{"a":[{}]}}}}`,
		fleet, `{"services": [{"match": {"service": "shop"}, "throttles": {"stock": {"mode": "off", "until": "2026-11-23T18:00:00Z"}}}, {}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := control.ParseDocument(data)
		if err != nil {
			return
		}
		c := newLabeled(t, map[string]string{"service": "shop", "cluster": "eu"})
		newThings(t, c)
		before := fmt.Sprint(c.Status())
		if _, err = c.Apply(t.Context(), d); err != nil {
			equal(t, "status after "+err.Error(), fmt.Sprint(c.Status()), before)
			return
		}
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := json.Marshal(parse(t, string(text))); !bytes.Equal(again, text) || err != nil {
			t.Errorf("got %s, %v after another round, %s before", again, err, text)
		}
	})
}

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
		inForce := func() string { return fmt.Sprint(th.Stats().Ratio, " ", th.Stats().Mode) }
		equal(t, tt.service+" in "+tt.cluster, inForce(), tt.want)
		apply(t, c, "{}")
		equal(t, tt.service+" in "+tt.cluster+", after it", inForce(), "2 enforce")
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
			`services[0]: match: Config.Labels has no "sevrice": it has ["cluster" "service"]`, shop,
		},
		{"no labels", `{"match": {"service": "shop"}, "throttles": {"stock": {"ratio": 3}}}`, `has no "service": it has []`, nil},
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
