package breaker

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

// recordFormat is the version of what is written. A record of an earlier one cannot be read, and is replaced.
const recordFormat = 1

// errNewerRecord is the error of a record that a later version of this package wrote. It counts as absent here, but is left alone.
var errNewerRecord = errors.New("breaker: record is of a later version")

// record is what the fleet knows of one circuit. There is none for a circuit that is closed and has no past.
type record struct {
	key        Key
	state      State
	forced     bool // by hand: no count changes it
	shadow     bool // nobody was refused for it, and nobody is to be when DryRun ends
	trips      int
	generation uint64
	reason     Reason
	changedAt  time.Time
	openUntil  time.Time // of an open circuit; the beginning of half-open afterwards
	countSince time.Time // what happened before is of no account
	calledAt   time.Time // about when calls were last seen
	failures   float64   // that were polled at the change
	successes  float64
	pending    []Event // which the notifier has not confirmed
}

// forget returns what stays of the record for an ObservabilityWindow when its circuit is forgotten by hand. If it went at once, whoever knew it
// would take that for a loss.
func (r *record) forget(now time.Time) *record {
	return &record{key: r.key, state: Closed, generation: r.generation + 1, reason: ReasonForgotten, changedAt: now, countSince: now, calledAt: now}
}

// forgotten reports whether the record says no more than that there was a circuit.
func (r *record) forgotten() bool {
	return r.state == Closed && !r.forced && r.trips == 0 && r.reason == ReasonForgotten
}

// wireRecord is a record as it is written: JSON, so that a person can read the store.
type wireRecord struct {
	Format     int         `json:"v"`
	Tenant     string      `json:"tenant,omitempty"`
	ID         string      `json:"id,omitempty"`
	TenantRaw  []byte      `json:"tenant_bytes,omitempty"` // instead of Tenant if that is not valid UTF-8
	IDRaw      []byte      `json:"id_bytes,omitempty"`
	State      string      `json:"state"`
	Forced     bool        `json:"forced,omitempty"`
	Shadow     bool        `json:"dry_run,omitempty"`
	Trips      int         `json:"trips"`
	Generation uint64      `json:"generation"`
	Reason     string      `json:"reason,omitempty"`
	ChangedAt  int64       `json:"changed_at"` // microseconds since 1970
	OpenUntil  int64       `json:"open_until,omitempty"`
	CountSince int64       `json:"count_since,omitempty"`
	CalledAt   int64       `json:"called_at,omitempty"`
	Failures   float64     `json:"failures"`
	Successes  float64     `json:"successes"`
	Pending    []wireEvent `json:"pending,omitempty"`
}

type wireEvent struct {
	From       string  `json:"from"`
	To         string  `json:"to"`
	Reason     string  `json:"reason"`
	Trips      int     `json:"trips"`
	Generation uint64  `json:"generation"`
	At         int64   `json:"at"`
	Failures   float64 `json:"failures"`
	Successes  float64 `json:"successes"`
	Shadow     bool    `json:"dry_run,omitempty"`
}

// encode returns the record as it is written.
func (r *record) encode() ([]byte, error) {
	w := wireRecord{
		Format: recordFormat, State: r.state.String(), Forced: r.forced, Shadow: r.shadow, Trips: r.trips, Generation: r.generation,
		Reason: r.reason.String(), ChangedAt: toMicros(r.changedAt), OpenUntil: toMicros(r.openUntil), CountSince: toMicros(r.countSince),
		CalledAt: toMicros(r.calledAt), Failures: r.failures, Successes: r.successes,
	}
	w.Tenant, w.TenantRaw = textOrBytes(r.key.Tenant)
	w.ID, w.IDRaw = textOrBytes(r.key.ID)
	for _, e := range r.pending {
		w.Pending = append(w.Pending, wireEvent{
			From: e.From.String(), To: e.To.String(), Reason: e.Reason.String(), Trips: e.Trips, Generation: e.Generation,
			At: toMicros(e.At), Failures: e.Failures, Successes: e.Successes, Shadow: e.Shadow,
		})
	}
	return json.Marshal(w)
}

// decode reads a record and its name, which must agree.
func decode(s store.StoredRecord, breaker string) (*record, error) {
	var w wireRecord
	if err := json.Unmarshal(s.Data, &w); err != nil {
		return nil, fmt.Errorf("breaker: record: %w", err)
	}
	switch {
	case w.Format > recordFormat:
		return nil, fmt.Errorf("%w: it has format %d, want %d", errNewerRecord, w.Format, recordFormat)
	case w.Format != recordFormat:
		return nil, fmt.Errorf("breaker: record has format %d: want %d", w.Format, recordFormat)
	}
	r := &record{
		key:    Key{Tenant: w.Tenant + string(w.TenantRaw), ID: w.ID + string(w.IDRaw)},
		forced: w.Forced, shadow: w.Shadow, trips: w.Trips, generation: w.Generation,
		changedAt: fromMicros(w.ChangedAt), openUntil: fromMicros(w.OpenUntil), countSince: fromMicros(w.CountSince),
		calledAt: fromMicros(w.CalledAt), failures: w.Failures, successes: w.Successes,
	}
	if err := errors.Join(r.state.UnmarshalText([]byte(w.State)), r.reason.UnmarshalText([]byte(w.Reason))); err != nil {
		return nil, fmt.Errorf("breaker: record: %w", err)
	}
	if w.Trips < 0 || r.key.RecordID() != s.ID {
		return nil, errors.New("breaker: record has negative trips or the key of another record")
	}
	for _, e := range w.Pending {
		event, err := e.event(breaker, r.key)
		if err != nil {
			return nil, err
		}
		r.pending = append(r.pending, event)
	}
	return r, nil
}

func (w wireEvent) event(breaker string, key Key) (Event, error) {
	e := Event{
		Breaker: breaker, Key: key, Trips: w.Trips, Generation: w.Generation,
		At: fromMicros(w.At), Failures: w.Failures, Successes: w.Successes, Shadow: w.Shadow,
	}
	err := errors.Join(e.From.UnmarshalText([]byte(w.From)), e.To.UnmarshalText([]byte(w.To)), e.Reason.UnmarshalText([]byte(w.Reason)))
	if err != nil {
		return Event{}, fmt.Errorf("breaker: record has an invalid event: %w", err)
	}
	return e, nil
}

func textOrBytes(s string) (string, []byte) {
	if utf8.ValidString(s) {
		return s, nil
	}
	return "", []byte(s)
}

func toMicros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicros(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}
