package statusz

import (
	"encoding/json"
	"strings"
	"testing"
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
