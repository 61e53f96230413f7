package protocol_test

import (
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/protocol"
)

func TestParseBinaryLoad_fields(t *testing.T) {
	own := protocol.FormatBinaryLoad(throttle.LoadReport{Overloaded: true})
	const double = "\x9a\x99\x99\x99\x99\x99\xb9\x3f"
	for name, more := range map[string]string{
		"cpu_utilization":     "\x09" + double,
		"rps":                 "\x18\x96\x01",
		"request_cost":        "\x22\x0e\x0a\x03foo\x11" + double,
		"a field of 32 bits":  "\xa5\x06abcd",
		"an unknown metric":   "\x42\x0e\x0a\x03foo\x11" + double,
		"a metric, no value":  "\x42\x05\x0a\x03foo",
		"an entry, no name":   "\x42\x09\x11" + double,
		"fields of the entry": "\x42\x07\x18\x01\x0a\x03foo",
	} {
		for _, message := range []string{own + more, more + own} {
			if got, ok := protocol.ParseBinaryLoad([]string{message}); !ok || !got.Overloaded {
				t.Errorf("%s: got %+v, %v", name, got, ok)
			}
		}
	}
	for name, message := range map[string]string{
		"empty":               "",
		"cut":                 own[:len(own)-1],
		"a long length":       "\x42\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" + own,
		"an endless varint":   own + strings.Repeat("\xff", 11),
		"a group":             own + "\x1b\x1c",
		"twice":               own + own,
		"a priority, unknown": own + "\x42\x13\x0a\x11spillway.shed.p99",
		"an entry that ends":  own + "\x42\x03\x0a\x09f",
		"not a number":        "\x49\x00\x00\x00\x00\x00\x00\xf8\x7f" + own,
		"10 kB":               own + strings.Repeat("\x18\x01", 5<<10),
	} {
		if got, ok := protocol.ParseBinaryLoad([]string{message}); ok || got != (throttle.LoadReport{}) {
			t.Errorf("%s: got %+v, want none", name, got)
		}
	}
	if _, ok := protocol.ParseBinaryLoad([]string{own, own}); ok {
		t.Error("two trailers: got a report, want none")
	}
}

func FuzzParseBinaryLoad(f *testing.F) {
	for _, g := range goldenLoads() {
		f.Add(protocol.FormatBinaryLoad(g.report))
	}
	f.Add("\x49\x00\x00\x00\x00\x00\x00\xf0\x7f\x42\xff\xff\xff\xff\x0f")
	f.Fuzz(func(t *testing.T, message string) {
		got, ok := protocol.ParseBinaryLoad([]string{message})
		wantInRange(t, message, got)
		if ok {
			wantStable(t, protocol.FormatLoad(got))
		}
	})
}
