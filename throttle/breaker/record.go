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

// record is the shared state of one circuit. A closed circuit without a past has no record. Times
// are times of the store's clock.
type record struct {
	Status               // Shadow means made in ModeShadow: no effect in ModeEnforce. RetryAfter is 0
	openUntil  time.Time // end of the open state, which is the start of half-open
	countSince time.Time // results before do not count
	calledAt   time.Time // approximate time of the last calls
	pending    []Event   // events that Config.Notify has not confirmed
}

// tombstone returns the record of a circuit that was forgotten by hand. It is kept for one
// ObservabilityWindow: other managers would take a missing record for a loss and write it back.
func (r *record) tombstone(now time.Time) *record {
	status := Status{Key: r.Key, State: Closed, Generation: r.Generation + 1, Reason: ReasonForgotten, ChangedAt: now}
	return &record{Status: status, countSince: now, calledAt: now}
}

// forgotten reports whether the record only shows that the circuit was forgotten.
func (r *record) forgotten() bool {
	return r.State == Closed && !r.Forced && r.Trips == 0 && r.Reason == ReasonForgotten
}

// removable reports whether the record can be deleted: it differs in nothing from a circuit without
// a record.
func (r *record) removable(now time.Time, window time.Duration) bool {
	return r.State == Closed && !r.Forced && r.Trips == 0 && len(r.pending) == 0 && now.Sub(r.countSince) >= window
}

// endsOnlyByHand reports whether only an operator can end the circuit's state.
func (r *record) endsOnlyByHand() bool { return r.Forced || r.State == Disabled }

// countFrom returns the time after which results count.
func (r *record) countFrom(now time.Time) time.Time {
	if r.State == Open && !now.Before(r.openUntil) {
		return r.openUntil
	}
	return r.countSince
}

// storedRecord is the stored form of a record. It is JSON, so that it can be read in the store.
// Times are microseconds since 1970.
type storedRecord struct {
	Format    int    `json:"v"`
	Tenant    string `json:"tenant,omitempty"`
	ID        string `json:"id,omitempty"`
	TenantRaw []byte `json:"tenant_bytes,omitempty"` // in place of Tenant if that is not valid UTF-8
	IDRaw     []byte `json:"id_bytes,omitempty"`
	storedStatus
	ChangedAt  int64         `json:"changed_at"`
	OpenUntil  int64         `json:"open_until,omitempty"`
	CountSince int64         `json:"count_since,omitempty"`
	CalledAt   int64         `json:"called_at,omitempty"`
	Pending    []storedEvent `json:"pending,omitempty"`
}

// storedStatus is [Status] with the names of its stored fields.
type storedStatus struct {
	Key        Key           `json:"-"`
	State      State         `json:"state"`
	Reason     Reason        `json:"reason,omitempty"`
	Forced     bool          `json:"forced,omitempty"`
	Trips      int           `json:"trips"`
	Generation uint64        `json:"generation"`
	ChangedAt  time.Time     `json:"-"`
	RetryAfter time.Duration `json:"-"`
	Failures   float64       `json:"failures"`
	Successes  float64       `json:"successes"`
	Shadow     bool          `json:"dry_run,omitempty"`
}

type storedEvent struct {
	storedChange
	At int64 `json:"at"`
}

// storedChange is [Event] with the names of its stored fields.
type storedChange struct {
	Breaker    string    `json:"-"`
	Key        Key       `json:"-"`
	From       State     `json:"from"`
	To         State     `json:"to"`
	Reason     Reason    `json:"reason"`
	Trips      int       `json:"trips"`
	Generation uint64    `json:"generation"`
	At         time.Time `json:"-"`
	Failures   float64   `json:"failures"`
	Successes  float64   `json:"successes"`
	Shadow     bool      `json:"dry_run,omitempty"`
}

func (r *record) encode() ([]byte, error) {
	w := storedRecord{
		Format: recordFormat, storedStatus: storedStatus(r.Status), ChangedAt: toMicros(r.ChangedAt), OpenUntil: toMicros(r.openUntil),
		CountSince: toMicros(r.countSince), CalledAt: toMicros(r.calledAt),
	}
	w.Tenant, w.TenantRaw = textOrBytes(r.Key.Tenant)
	w.ID, w.IDRaw = textOrBytes(r.Key.ID)
	for _, e := range r.pending {
		w.Pending = append(w.Pending, storedEvent{storedChange(e), toMicros(e.At)})
	}
	return json.Marshal(w)
}

// decode reads a record. The record's key must match its ID.
func decode(s store.StoredRecord, breaker string) (*record, error) {
	w := storedRecord{storedStatus: storedStatus{State: numStates}} // a missing state is invalid
	err := json.Unmarshal(s.Data, &w)
	r := &record{
		Status: Status(w.storedStatus), openUntil: fromMicros(w.OpenUntil), countSince: fromMicros(w.CountSince), calledAt: fromMicros(w.CalledAt),
	}
	r.Key, r.ChangedAt = Key{Tenant: w.Tenant + string(w.TenantRaw), ID: w.ID + string(w.IDRaw)}, fromMicros(w.ChangedAt)
	switch {
	case w.Format > recordFormat:
		return nil, fmt.Errorf("%w: format %d, want at most %d", errNewerRecord, w.Format, recordFormat)
	case err != nil: // a later version may have other words
		return nil, fmt.Errorf("breaker: record is invalid: %w", err)
	case w.Format != recordFormat:
		return nil, fmt.Errorf("breaker: record has format %d: want %d", w.Format, recordFormat)
	case r.State >= numStates:
		return nil, errors.New("breaker: record has no state")
	case r.Trips < 0 || r.Key.RecordID() != s.ID:
		return nil, errors.New("breaker: record has negative trips or the key of another record")
	}
	for _, stored := range w.Pending {
		e := Event(stored.storedChange)
		e.Breaker, e.Key, e.At = breaker, r.Key, fromMicros(stored.At)
		r.pending = append(r.pending, e)
	}
	return r, nil
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
