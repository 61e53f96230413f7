package protocol_test

import (
	"encoding/base64"
	"math"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/protocol"
)

// goldenLoad is a report in all its forms. ExampleFormatLoad and docs/load-reports.md have the same.
type goldenLoad struct {
	report throttle.LoadReport
	text   string
	base64 string // of the binary form
	json   string
}

func goldenLoads() map[string]goldenLoad {
	full := throttle.LoadReport{Overloaded: true, Utilization: 2.5}
	full.Shed[throttle.Important], full.Shed[throttle.Medium], full.Shed[throttle.Low] = 0.125, 0.75, 1
	return map[string]goldenLoad{
		"calm": {
			throttle.LoadReport{},
			"TEXT named_metrics.spillway.overloaded=0",
			"Qh4KE3NwaWxsd2F5Lm92ZXJsb2FkZWQRAAAAAAAAAAA=",
			`{"named_metrics": {"spillway.overloaded": 0}}`,
		},
		"calm for long": {
			throttle.LoadReport{Answers: 8},
			"TEXT named_metrics.spillway.overloaded=0,named_metrics.spillway.answers=8",
			"Qh4KE3NwaWxsd2F5Lm92ZXJsb2FkZWQRAAAAAAAAAABCGwoQc3BpbGx3YXkuYW5zd2VycxEAAAAAAAAgQA==",
			`{"named_metrics": {"spillway.overloaded": 0, "spillway.answers": 8}}`,
		},
		"busy": {
			throttle.LoadReport{Utilization: 0.42},
			"TEXT application_utilization=0.42,named_metrics.spillway.overloaded=0",
			"SeF6FK5H4do/Qh4KE3NwaWxsd2F5Lm92ZXJsb2FkZWQRAAAAAAAAAAA=",
			`{"applicationUtilization": 0.42, "namedMetrics": {"spillway.overloaded": 0}, "eps": 3}`,
		},
		"overloaded": {
			full,
			"TEXT application_utilization=2.5,named_metrics.spillway.overloaded=1,named_metrics.spillway.shed.important=0.125," +
				"named_metrics.spillway.shed.medium=0.75,named_metrics.spillway.shed.low=1",
			"SQAAAAAAAARAQh4KE3NwaWxsd2F5Lm92ZXJsb2FkZWQRAAAAAAAA8D9CIgoXc3BpbGx3YXkuc2hlZC5pbXBvcnRhbnQRAAAAAAAAwD9CHwoUc3BpbGx3YXkuc2hlZC5tZWRpdW0RAAAAAAAA6D9CHAoRc3BpbGx3YXkuc2hlZC5sb3cRAAAAAAAA8D8=",
			`{"application_utilization": 2.5, "named_metrics": {"spillway.overloaded": 1, "spillway.shed.important": 0.125,
				"spillway.shed.medium": 0.75, "spillway.shed.low": 1, "queue": 7}}`,
		},
	}
}

func TestFormatLoad_range(t *testing.T) {
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e308, -1e308, -0.5, 1e-300, 0.9999999, 1} {
		r := throttle.LoadReport{Utilization: x, Answers: int(x)}
		for p := range r.Shed {
			r.Shed[p] = x
		}
		text := protocol.FormatLoad(r)
		got, ok := protocol.ParseLoad([]string{text})
		binary, okBinary := protocol.ParseBinaryLoad([]string{protocol.FormatBinaryLoad(r)})
		if !ok || !okBinary || got != binary || len(text) > 1<<10 {
			t.Errorf("%v: got %s, read as %+v (%v) and %+v (%v)", x, text, got, ok, binary, okBinary)
		}
		wantInRange(t, text, got)
		if x > 0 && got.Shed[0] < 0.001 {
			t.Errorf("%v: got %s, want a share that is not 0", x, text)
		}
	}
}

func wantInRange(t *testing.T, what string, r throttle.LoadReport) {
	t.Helper()
	in := r.Utilization >= 0 && r.Utilization <= 100 && r.Answers >= 0 && r.Answers <= 16
	for _, share := range r.Shed {
		in = in && share >= 0 && share <= 1
	}
	if !in {
		t.Errorf("%.100s: got %+v want numbers in range", what, r)
	}
}

func TestParseLoad(t *testing.T) {
	for name, g := range goldenLoads() {
		for _, value := range []string{g.text, "JSON " + g.json, "BIN " + g.base64} {
			if got, ok := protocol.ParseLoad([]string{value}); !ok || got != g.report {
				t.Errorf("%s: %s: got %+v, %v want %+v", name, value, got, ok, g.report)
			}
		}
		binary, err := base64.StdEncoding.DecodeString(g.base64)
		if got, ok := protocol.ParseBinaryLoad([]string{string(binary)}); err != nil || !ok || got != g.report {
			t.Errorf("%s: binary: got %+v, %v want %+v", name, got, ok, g.report)
		}
	}
	calm, overloaded := throttle.LoadReport{}, throttle.LoadReport{Overloaded: true}
	low := overloaded
	low.Shed[throttle.Low] = 1
	for value, want := range map[string]throttle.LoadReport{
		"TEXT cpu_utilization=0.3, mem_utilization=0.8, rps_fractional=10.0, eps=1, named_metrics.spillway.overloaded=0": calm,
		"TEXT named_metrics.spillway.overloaded:1": overloaded,
		"TEXT named_metrics.spillway.overloaded = 1 , named_metrics.spillway.shed.low = 1e308, named_metrics.spillway.shed.high=-3": low,
		"TEXT named_metrics.spillway.overloaded=0,named_metrics.queue=many,another=field":                                           calm,
		"TEXT named_metrics.spillway.overloaded=0,application_utilization=-1":                                                       calm,
	} {
		if got, ok := protocol.ParseLoad([]string{value}); !ok || got != want {
			t.Errorf("%s: got %+v, %v want %+v", value, got, ok, want)
		}
	}
}

func TestParseLoad_invalid(t *testing.T) {
	text := goldenLoads()["overloaded"].text
	for _, values := range [][]string{
		nil,
		{""},
		{text, text},
		{strings.ToLower(text)},
		{text[5:]},
		{"TEXT"},
		{"TEXT "},
		{"JSON"},
		{"BIN"},
		{"XML <a/>"},
		{text + "," + strings.Repeat("x", 1<<10)},
		{text + strings.Repeat(",a=1", 10<<10/4)},
		{text + ",named_metrics.spillway.shed.low=0.5"},
		{text + ",named_metrics.spillway.overloaded=0"},
		{text + ",application_utilization=1"},
		{text + ",named_metrics.spillway.shed.urgent=1"},
		{text + ",named_metrics.spillway.shed.p16=1"},
		{text + ",named_metrics.spillway.shed.high=NaN"},
		{text + ",named_metrics.spillway.shed.high=Inf"},
		{text + ",named_metrics.spillway.shed.high=1e309"},
		{text + ",named_metrics.spillway.shed.high="},
		{text + ",named_metrics.spillway.shed.high"},
		// The documented examples of others say nothing about an overload.
		{"TEXT cpu_utilization=0.3, mem_utilization=0.8, rps_fractional=10.0, eps=1, named_metrics.custom_metric_util=0.4"},
		{`JSON {"cpu_utilization": 0.3, "mem_utilization": 0.8, "rps_fractional": 10.0, "eps": 1, "named_metrics": {"custom-metric-util": 0.4}}`},
		{"BIN CZqZmZmZmbk/MQAAAAAAAABAQg4KA2ZvbxGamZmZmZm5P0IOCgNiYXIRmpmZmZmZyT8="},
		{`JSON {"named_metrics": {"spillway.overloaded": "1"}}`},
		{`JSON {"named_metrics": {"spillway.overloaded": 1}`},
		{`JSON {"named_metrics": {"spillway.overloaded": 1}, "namedMetrics": {"spillway.overloaded": 1}}`},
		{`JSON {"named_metrics": {"spillway.overloaded": 1e309}}`},
		{"BIN not base64"},
	} {
		if got, ok := protocol.ParseLoad(values); ok || got != (throttle.LoadReport{}) {
			t.Errorf("%.200q: got %+v, want none", values, got)
		}
	}
}

func FuzzParseLoad(f *testing.F) {
	for _, g := range goldenLoads() {
		f.Add(g.text)
		f.Add("JSON " + g.json)
		f.Add("BIN " + g.base64)
	}
	f.Add("TEXT named_metrics.spillway.overloaded=NaN,application_utilization=1e308")
	f.Add("TEXT named_metrics.spillway.overloaded=1,named_metrics.spillway.shed.low=-Inf")
	f.Add("TEXT " + strings.Repeat("named_metrics.spillway.overloaded=1,", 300))
	f.Fuzz(func(t *testing.T, value string) {
		got, ok := protocol.ParseLoad([]string{value})
		wantInRange(t, value, got)
		if !ok && got != (throttle.LoadReport{}) {
			t.Errorf("%q: got %+v of a report that is not valid", value, got)
		}
		if text := protocol.FormatLoad(got); ok {
			wantStable(t, text)
		}
	})
}

func wantStable(t *testing.T, text string) {
	t.Helper()
	again, ok := protocol.ParseLoad([]string{text})
	if !ok || protocol.FormatLoad(again) != text {
		t.Errorf("%s: got %+v, %v", text, again, ok)
	}
	binary, ok := protocol.ParseBinaryLoad([]string{protocol.FormatBinaryLoad(again)})
	if !ok || binary != again {
		t.Errorf("%s: got %+v, %v in the binary form", text, binary, ok)
	}
}
