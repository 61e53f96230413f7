package breaker

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

// recordFormat is the version of the stored format. A record of an earlier version cannot be read
// and is replaced.
const recordFormat = 1

// errNewerRecord means that a later version of this package wrote the record. Such a record counts
// as absent. It is not deleted, but replaced if the circuit opens.
var errNewerRecord = errors.New("breaker: record was written by a later version")

// record is the shared state of one circuit. A closed circuit without a past has no record.
type record struct {
	key        Key
	state      State
	forced     bool // set by hand: calls do not change the state
	shadow     bool // made in ModeShadow: has no effect in ModeEnforce
	trips      int
	generation uint64
	reason     Reason
	changedAt  time.Time
	openUntil  time.Time // end of the open state, which is the start of half-open
	countSince time.Time // results before do not count
	calledAt   time.Time // approximate time of the last calls
	failures   float64   // polled at the last change
	successes  float64
	pending    []Event // events that Config.Notify has not confirmed
}

// forget returns the record of a circuit that was forgotten by hand. It is kept for one
// ObservabilityWindow: other managers would take a missing record for a loss and write it back.
func (r *record) forget(now time.Time) *record {
	return &record{key: r.key, state: Closed, generation: r.generation + 1, reason: ReasonForgotten, changedAt: now, countSince: now, calledAt: now}
}

// forgotten reports whether the record only shows that the circuit was forgotten.
func (r *record) forgotten() bool {
	return r.state == Closed && !r.forced && r.trips == 0 && r.reason == ReasonForgotten
}

// wireRecord is the stored form of a record. It is JSON, so that it can be read in the store.
type wireRecord struct {
	Format     int         `json:"v"`
	Tenant     string      `json:"tenant,omitempty"`
	ID         string      `json:"id,omitempty"`
	TenantRaw  []byte      `json:"tenant_bytes,omitempty"` // in place of Tenant if that is not valid UTF-8
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

// encode returns the stored form of the record.
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

// decode reads a record. The record's key must match its ID.
func decode(s store.StoredRecord, breaker string) (*record, error) {
	var w wireRecord
	if err := json.Unmarshal(s.Data, &w); err != nil {
		return nil, fmt.Errorf("breaker: record is invalid: %w", err)
	}
	switch {
	case w.Format > recordFormat:
		return nil, fmt.Errorf("%w: format %d, want at most %d", errNewerRecord, w.Format, recordFormat)
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
		return nil, fmt.Errorf("breaker: record is invalid: %w", err)
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
