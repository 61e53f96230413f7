package main

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spillway-go/spillway/examples/internal/narrator"
	"github.com/spillway-go/spillway/examples/webhooks/dispatch"
	"github.com/spillway-go/spillway/throttle/breaker"
)

// row is one part of the story in the table.
type row struct {
	name    string
	figures dispatch.Figures
}

// summarize writes what the run has shown.
func (s *story) summarize() {
	if len(s.rows) == 0 {
		return
	}
	s.out.Act("Summary")
	s.table()
	var guarded dispatch.Figures
	for _, r := range s.rows[1:] {
		guarded.Add(r.figures)
	}
	s.out.Printf("\nwait and answer are of endpoints that were never ill: how long a worker was waited for, and how long the endpoint took.\n")
	s.out.Printf("Deliveries made with a breaker: %d. Attempts saved: %d, which would have kept workers busy for %s.\n",
		guarded.Delivered, guarded.Shed, narrator.Span(guarded.WorkSaved))
	s.stumbles()
	_ = s.promises.Write(s.out) // the narrator keeps the error
}

// stumbles writes what went wrong beside the deliveries and was done again. On a machine that is busy there may be some of it.
func (s *story) stumbles() {
	if s.fleet == nil {
		return
	}
	tell := func(what string, f dispatch.Failures) {
		if f.Count > 0 {
			s.out.Printf("Done again, and no delivery waited for it: %s, %d times, last because: %v\n", what, f.Count, f.Last)
		}
	}
	for kind, f := range s.fleet.Journal.Failures() {
		tell(breaker.Failure(kind).String(), f)
	}
	tell("writing deliveries", s.fleet.Misses())
	slow := 0
	opened := s.fleet.Journal.Ever(breaker.Open)
	for _, e := range s.server.Endpoints() {
		if opened[e.Key] && !e.Doomed {
			slow++
		}
	}
	if slow > 0 {
		s.out.Printf("Circuits of %d endpoints opened although these were never ill: they timed out, because this machine is busy.\n", slow)
	}
	s.out.Printf("\n")
}

// table writes the parts of the story, one per line. Waiting and answers are those of endpoints that were never ill.
func (s *story) table() {
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "\tdelivered\tfailed\tgiven up\tsaved\twait p50\tp99\tanswer p50\tp99\t\n")
	for _, r := range s.rows {
		f := r.figures
		fmt.Fprintf(w, "%-24s\t%d\t%d\t%d\t%d\t%s\t%s\t%s\t%s\t\n", r.name, f.Delivered, f.Failed, f.GivenUp, f.Shed,
			quantile(f.Waited, 0.5), quantile(f.Waited, 0.99), quantile(f.Answered, 0.5), quantile(f.Answered, 0.99))
	}
	_ = w.Flush() // the narrator keeps the error
}

func quantile(durations []time.Duration, share float64) string {
	return narrator.Span(dispatch.Quantile(durations, share))
}
