package main

import (
	"bytes"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// TestFigures counts outcomes over the spans of the figures.
func TestFigures(t *testing.T) {
	m := newMeter("")
	empty := m.read()
	if empty.P99 != nil || empty.Success != [4]*float64{} || empty.Good != 0 {
		t.Errorf("without requests: got %+v want unknown figures", empty)
	}
	for range successSpan { // the last ones of which are the second of the rates
		m.record(0, good, 100*time.Millisecond, 2*time.Millisecond)
		m.record(0, late, time.Second, 0)
		m.record(3, shed, 0, 0)
		m.record(3, failed, 0, 0)
		m.read()
	}
	m.record(0, good, 300*time.Millisecond, 0)
	s := m.read()
	if s.Good != 4 || s.Late != 3 || s.Failed != 3 || s.Shed != [4]float64{0, 0, 0, 3} {
		t.Errorf("rates: got %+v want 4 good, 3 late, 3 failed, 3 shed", s)
	}
	if *s.Success[0] != 20.0/39 || s.Success[1] != nil || s.Success[2] != nil || *s.Success[3] != 0 {
		t.Errorf("success: got %v of High and %v of Low want 20 of 39 and 0", *s.Success[0], *s.Success[3])
	}
	equal(t, "p99", *s.P99, 300)
	equal(t, "lag: 6 ms for 13 requests", s.lag, 6.0/13)
	for range successSpan {
		s = m.read()
	}
	if s.P99 != nil || s.Success[0] != nil || s.Good != 0 {
		t.Errorf("five seconds later: got %+v want unknown figures", s)
	}
}

// TestWait asks a server that protects itself, and one that only answers slowly.
func TestWait(t *testing.T) {
	for _, tt := range []struct {
		body  string
		delay time.Duration
		asked time.Duration // until the wait is read
		want  float64       // milliseconds
	}{
		{`{"Wait":40000000,"Aim":30000000}`, time.Second, 2 * time.Second, 10}, // a quarter of the first one
		{`{"Wait":0,"Aim":0}`, time.Second, 1100 * time.Millisecond, 1000},
		{`{"Wait":0,"Aim":0}`, 9 * time.Second, 4 * time.Second, 4000}, // it has not answered yet
	} {
		synctest.Test(t, func(t *testing.T) {
			m := meterOf(nil)
			client := &http.Client{Transport: answer(func(r *http.Request) (*http.Response, error) {
				equal(t, "path", r.URL.Path, statePath)
				time.Sleep(tt.delay)
				return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader([]byte(tt.body)))}, nil
			})}
			go m.ask(t.Context(), client)
			time.Sleep(tt.asked)
			equal(t, tt.body+" after "+tt.delay.String()+": wait in ms", *m.read().Wait, tt.want)
			time.Sleep(tt.delay)
		})
	}
}
