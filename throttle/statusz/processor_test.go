package statusz

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// overloadedProcess is the state of a process whose requests wait for a processor.
func overloadedProcess() throttle.ProcessorStats {
	s := throttle.ProcessorStats{
		Wait: 120_456 * time.Microsecond, Aim: 30 * time.Millisecond, Floor: 1_500 * time.Microsecond, Runnable: 40, Processors: 2, Share: 0.66123,
	}
	for p := range s.Probabilities {
		s.Probabilities[p] = 1 // of priorities without demand, too
	}
	s.Probabilities[throttle.High], s.Probabilities[throttle.Important], s.Probabilities[throttle.Medium] = 0, 0.0004, 0.90123
	return s
}

// TestProcessor_rows has a throttle that serves calls, and one that only calls other processes.
func TestProcessor_rows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New()
		defer p.Close()
		p.stats = overloadedProcess
		web := newThrottle(t, p, throttle.Config{Name: "web", ProcessorWait: time.Second})
		other := newThrottle(t, p, throttle.Config{Name: "web", ProcessorWait: 20 * time.Millisecond})
		newThrottle(t, p, throttle.Config{Name: "web"}) // has served nothing yet
		client := newThrottle(t, p, throttle.Config{Name: "client"})
		call(client, throttle.Low, 1, nil)
		for _, th := range []*throttle.Throttle{web, other} {
			_ = th.DoLocal(t.Context(), throttle.High, func(context.Context) error { return nil })
			th.Exempt()
		}
		web.Exempt()
		row := find(t, show(t, p), "web")
		if row.ProcessorWait != 0.02 || row.Exempt != 3 {
			t.Errorf("got processor wait %v, %d exempt calls want 0.02, 3", row.ProcessorWait, row.Exempt)
		}
		for i, want := range []string{"0 own", "0.0004 processor", "0.90123 processor", "1 processor"} {
			if got := fmt.Sprint(row.Priorities[i].Probability, " ", row.Priorities[i].Cause); got != want {
				t.Errorf("%s: got %s want %s", row.Priorities[i].Priority, got, want)
			}
		}
		row = find(t, show(t, p), "client")
		if low := &row.Priorities[throttle.Low]; row.ProcessorWait != 0 || row.Exempt != 0 || low.Probability != 0 || low.Cause != "own" {
			t.Errorf("client: got processor wait %v, %d exempt calls, %v, %s want 0, 0, 0, own", row.ProcessorWait, row.Exempt, low.Probability, low.Cause)
		}
		_ = other.Close()
		tick()
		row = find(t, show(t, p), "web")
		if row.ProcessorWait != 1 || row.Exempt != 3 {
			t.Errorf("after one is closed: got processor wait %v, %d exempt calls want 1, 3", row.ProcessorWait, row.Exempt)
		}
	})
}

// TestCauses has shed calls of causes that most throttles do not have, which the rates include.
func TestCauses(t *testing.T) {
	var s throttle.PriorityStats
	s.Shed.Add(throttle.CauseOwn, 1)
	s.Shed.Add(throttle.CauseProcessor, 7)
	s.Shed.Add(throttle.CauseTold, 2)
	if err := json.Unmarshal([]byte(`{"processor": [{"outcome": "accepted", "fault": "none", "calls": 8}]}`), &s.ShadowShed); err != nil {
		t.Fatal(err)
	}
	doc := priorityDocumentOf(&s)
	if want := (causeDocument{Own: 1, Processor: 7, Told: 2}); doc.Shed != want || doc.Shed.sum() != 10 {
		t.Errorf("got shed %+v want %+v", doc.Shed, want)
	}
	if want := (causeDocument{Processor: 8}); doc.WouldShed != want || doc.WouldShed.sum() != 8 {
		t.Errorf("got would shed %+v want %+v", doc.WouldShed, want)
	}
	if got, want := string(appendFigures(nil, &doc)), "0,1,0,0,7,2,0,0,0,8,0,"; !strings.HasPrefix(got, want) {
		t.Errorf("got figures %s want %s first", got, want)
	}
}
