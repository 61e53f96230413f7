package statusz

import (
	"cmp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spillway-go/spillway/throttle"
)

// document is the body of ?format=json. Its field names are API, see the package comment.
type document struct {
	Time         string             `json:"time"`
	Process      process            `json:"process"`
	SampledSince string             `json:"sampled_since"`
	Throttles    []throttleDocument `json:"throttles"`
	Sources      []sourceDocument   `json:"sources"`
}

type process struct {
	Command string `json:"command"`
	Host    string `json:"host"`
	PID     int    `json:"pid"`
	Go      string `json:"go"`
	Started string `json:"started"` // when New was called

	Processor *processorDocument `json:"processor,omitempty"` // once it has served calls
}

// headDocument is the name and the settings of a row.
type headDocument struct {
	Name            string  `json:"name"`
	Policy          string  `json:"policy"`
	Mode            string  `json:"mode"`
	Instances       int     `json:"instances"`
	Mixed           bool    `json:"mixed"`
	Ratio           float64 `json:"ratio"`
	MinimumRate     float64 `json:"minimum_rate"`
	TargetRejection float64 `json:"target_rejection"`
	WindowSeconds   float64 `json:"window_seconds"`
	Alert           string  `json:"alert"`
	Background      float64 `json:"background"`
	StateSince      string  `json:"state_since"`
	ProcessorWait   float64 `json:"processor_wait_seconds"`
	Exempt          uint64  `json:"exempt"`
	LoadSent        string  `json:"load_sent,omitempty"`     // to clients: calm or overloaded
	LoadReceived    string  `json:"load_received,omitempty"` // of the backend: a word of throttle.ReceivedStats
}

type throttleDocument struct {
	id uint64
	headDocument
	Slow           *slowDocument      `json:"slow,omitempty"`
	Tenants        *tenantsDocument   `json:"tenants,omitempty"` // of throttle.WithTenant
	Priorities     []priorityDocument `json:"priorities"`
	Members        []memberDocument   `json:"members"`         // of a Group, worst first
	MembersOmitted int                `json:"members_omitted"` // members beyond those
}

type priorityDocument struct {
	cause       throttle.Cause
	Priority    string             `json:"priority"`
	Probability float64            `json:"probability"`
	Cause       string             `json:"cause"`
	InFlight    int64              `json:"in_flight"`
	Admitted    uint64             `json:"admitted"`
	Shed        causeDocument      `json:"shed"`
	WouldShed   causeDocument      `json:"would_shed"`
	Window      windowDocument     `json:"window"`
	Ended       []countDocument    `json:"ended"`
	Overloaded  uint64             `json:"overloaded"`
	Fallbacks   []countDocument    `json:"fallbacks"`
	Clamped     uint64             `json:"clamped"`
	Rates       *rates             `json:"rates"`
	Slow        *slowCallsDocument `json:"slow,omitempty"`
	History     *historyDocument   `json:"history,omitempty"`
}

type causeDocument struct {
	Own       uint64 `json:"own"`
	Above     uint64 `json:"above"`
	Limit     uint64 `json:"limit,omitempty"`     // of Config.Slow
	Processor uint64 `json:"processor,omitempty"` // of Config.ProcessorWait
	Told      uint64 `json:"told,omitempty"`      // of Throttle.ReceiveLoad
}

// causesOf returns what count counts of each cause.
func causesOf(count func(throttle.Cause) uint64) causeDocument {
	return causeDocument{
		Own: count(throttle.CauseOwn), Above: count(throttle.CauseAbove), Limit: count(throttle.CauseLimit),
		Processor: count(throttle.CauseProcessor), Told: count(throttle.CauseTold),
	}
}

func (c causeDocument) sum() uint64 { return c.Own + c.Above + c.Limit + c.Processor + c.Told }

type windowDocument struct {
	Accepted uint64 `json:"accepted"`
	Rejected uint64 `json:"rejected"`
	Shed     uint64 `json:"shed"`
}

type countDocument struct {
	outcome throttle.Outcome
	fault   throttle.Fault
	Outcome string `json:"outcome"`
	Fault   string `json:"fault"`
	Calls   uint64 `json:"calls"`
}

type rates struct {
	Admitted  float32 `json:"admitted"`
	Shed      float32 `json:"shed"`
	WouldShed float32 `json:"would_shed"`
}

type historyDocument struct {
	Admitted    series `json:"admitted"`
	Shed        series `json:"shed"`
	WouldShed   series `json:"would_shed"`
	Probability series `json:"probability"`
}

type sourceDocument struct {
	id          uint64
	Kind        string               `json:"kind"`
	Name        string               `json:"name"`
	State       string               `json:"state"`
	Level       string               `json:"level"`
	Error       string               `json:"error,omitempty"`
	Figures     []figureDocument     `json:"figures"`
	Transitions []transitionDocument `json:"transitions"`
}

type figureDocument struct {
	Name  string   `json:"name"`
	Value *float64 `json:"value"` // null if it is not finite
	Unit  string   `json:"unit"`
}

type transitionDocument struct {
	Time string `json:"time"`
	From string `json:"from"`
	To   string `json:"to"`
}

// documentOf returns the document of a row, without rates and history.
func documentOf(r *rowStats) throttleDocument {
	doc := throttleDocument{id: r.id, headDocument: r.settings.headDocument, Priorities: make([]priorityDocument, len(r.priorities))}
	doc.Name, doc.Instances, doc.Mixed = r.name, r.instances, r.mixed
	doc.Alert, doc.Background, doc.StateSince = r.state.Alert.String(), thousandths(r.state.Background), timestamp(r.state.Since)
	doc.ProcessorWait, doc.Exempt, doc.LoadSent, doc.LoadReceived = r.processor.Seconds(), r.exempt, r.told, r.received
	for p := range r.priorities {
		doc.Priorities[p] = priorityDocumentOf(&r.priorities[p])
	}
	doc.addSlow(r)
	doc.addTenants(r)
	doc.Members, doc.MembersOmitted = r.members.documents()
	return doc
}

// priorityDocumentOf returns the document of one priority, summed over the throttles of a row.
func priorityDocumentOf(s *throttle.PriorityStats) priorityDocument {
	ended := s.Ended
	for _, shadow := range s.ShadowShed.All() {
		ended.Merge(shadow)
	}
	return priorityDocument{
		Priority:    s.Priority.String(),
		Probability: finite(s.Probability),
		cause:       s.Cause,
		Cause:       s.Cause.String(),
		InFlight:    s.InFlight,
		Admitted:    s.Admitted,
		Shed:        causesOf(s.Shed.Count),
		WouldShed:   causesOf(func(c throttle.Cause) uint64 { would := s.ShadowShed.Cause(c); return would.Sum() }),
		Window:      windowDocument{Accepted: s.Window.Accepted, Rejected: s.Window.Rejected, Shed: s.Window.Shed},
		Ended:       countsOf(&ended),
		Overloaded:  s.Overloaded,
		Fallbacks:   countsOf(&s.Fallbacks),
		Clamped:     s.Clamped,
	}
}

func countsOf(totals *throttle.Totals) []countDocument {
	counts := []countDocument{}
	for t := range totals.All() {
		counts = append(counts, countDocument{t.Outcome, t.Fault, t.Outcome.String(), t.Fault.String(), t.Calls})
	}
	return counts
}

// sourceDocumentOf returns the document of a Status, with long texts and lists cut.
func sourceDocumentOf(s Status) sourceDocument {
	doc := sourceDocument{
		Kind: cmp.Or(truncate(s.Kind, 200), "source"), Name: truncate(s.Name, 2000), State: truncate(s.State, 200), Level: min(s.Level, Bad).String(),
		Figures: []figureDocument{}, Transitions: []transitionDocument{},
	}
	for _, f := range s.Figures[:min(len(s.Figures), maxFigures)] {
		shown := figureDocument{Name: truncate(f.Name, 200), Unit: truncate(f.Unit, 40)}
		if v := f.Value; finite(v) == v {
			shown.Value = &v
		}
		doc.Figures = append(doc.Figures, shown)
	}
	for _, t := range s.Transitions[max(0, len(s.Transitions)-maxTransitions):] {
		doc.Transitions = append(doc.Transitions, transitionDocument{timestamp(t.Time), truncate(t.From, 200), truncate(t.To, 200)})
	}
	return doc
}

func compareSources(a, b sourceDocument) int {
	return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name), cmp.Compare(a.id, b.id))
}

// timestamp formats t as RFC 3339 with milliseconds. It returns "" if t is zero or RFC 3339 has no
// form for its year.
func timestamp(t time.Time) string {
	if year := t.UTC().Year(); t.IsZero() || year < 0 || year > 9999 {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// truncate cuts s to at most that many bytes, at the start of a rune, and appends an ellipsis.
func truncate(s string, bytes int) string {
	if len(s) <= bytes {
		return s
	}
	for bytes > 0 && !utf8.RuneStart(s[bytes]) {
		bytes--
	}
	return s[:bytes] + "…"
}
