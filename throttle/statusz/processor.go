package statusz

import (
	"bytes"
	"math"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// processorDocument is how long the requests of this process wait for a processor, and what is shed for
// it.
type processorDocument struct {
	Wait          float64               `json:"wait_seconds"`
	Aim           float64               `json:"aim_seconds"`
	Floor         float64               `json:"floor_seconds"`
	Runnable      int                   `json:"runnable"`
	Processors    int                   `json:"processors"`
	Share         float64               `json:"share"`
	Probabilities probabilitiesDocument `json:"probabilities"`
}

type probabilitiesDocument struct {
	High      float64 `json:"high"`
	Important float64 `json:"important"`
	Medium    float64 `json:"medium"`
	Low       float64 `json:"low"`
}

// processorDocumentOf returns nil if the process has served no calls.
func processorDocumentOf(s *throttle.ProcessorStats) *processorDocument {
	if s.Processors == 0 {
		return nil
	}
	of := &s.Probabilities
	return &processorDocument{
		Wait: shortSeconds(s.Wait), Aim: shortSeconds(s.Aim), Floor: shortSeconds(s.Floor),
		Runnable: s.Runnable, Processors: s.Processors, Share: thousandths(s.Share),
		Probabilities: probabilitiesDocument{
			High: thousandths(of[throttle.High]), Important: thousandths(of[throttle.Important]),
			Medium: thousandths(of[throttle.Medium]), Low: thousandths(of[throttle.Low]),
		},
	}
}

// addProcessorWait keeps the lowest wait of the open throttles: the process aims at that.
func (r *rowStats) addProcessorWait(wait time.Duration) {
	if wait > 0 && (r.processor == 0 || wait < r.processor) {
		r.processor = wait
	}
}

// addProcessor sets the probabilities of a row whose calls are shed because requests wait for a
// processor.
func (d *throttleDocument) addProcessor(s *throttle.ProcessorStats) {
	if d.ProcessorWait == 0 {
		return
	}
	for i := range d.Priorities {
		p := &d.Priorities[i]
		if drop := finite(s.Probabilities[i]); drop > p.Probability {
			p.Probability, p.cause, p.Cause = drop, throttle.CauseProcessor, throttle.CauseProcessor.String()
		}
	}
}

// updateProcessor adds the state of the process to d if it has changed. It returns the encoding.
func (d *delta) updateProcessor(doc *processorDocument, before []byte) []byte {
	if doc == nil {
		return nil
	}
	now := appendJSON(nil, doc)
	if !bytes.Equal(now, before) {
		d.processor = now
	}
	return now
}

func shortSeconds(d time.Duration) float64 { return math.Round(1e4*d.Seconds()) / 1e4 }

// thousandths rounds a share.
func thousandths(share float64) float64 { return math.Round(1000*finite(share)) / 1000 }
