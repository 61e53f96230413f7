package throttle

import (
	"context"
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/enum"
)

// AlertReason is why [Tiered] is in alert.
type AlertReason uint8

const (
	// NoAlert means that Tiered is quiet: it has the bound of the documented formula.
	NoAlert AlertReason = iota
	// RatioAlert means that more calls were rejected than 30 % of errors can explain.
	RatioAlert
	// GrowthAlert means that more calls were rejected than before, and that this throttle has more
	// calls than before.
	GrowthAlert
	// FormulaAlert means that the documented formula sheds.
	FormulaAlert
	// FullAlert means that the backend said that it is full, see [MarkOverloaded].
	FullAlert
	// TrialAlert means that more calls were rejected than before, at a demand as before. It begins with a
	// trial: fewer calls are sent for a few seconds, to see whether that helps.
	TrialAlert
)

// String returns "none", "ratio", "growth", "formula", "full" or "trial".
func (r AlertReason) String() string {
	return enum.Name("alert_reason", r, "none ratio growth formula full trial")
}

// MarshalText returns the word of the reason, or an error if the reason is not defined.
func (r AlertReason) MarshalText() ([]byte, error) { return enum.Marshal(r, NoAlert, TrialAlert) }

// UnmarshalText reads the word of a reason. Any other text is an error, and does not change r.
func (r *AlertReason) UnmarshalText(text []byte) error {
	return enum.Unmarshal(r, text, NoAlert, TrialAlert)
}

// PolicyState is the state of [Tiered]. For SRE it is the zero PolicyState.
type PolicyState struct {
	// Alert is the reason of the alert, or NoAlert while the policy is quiet.
	Alert AlertReason
	// Background is the share of the calls that the backend rejects for other reasons than load. It
	// is forgiven during an alert. Without Config.Background it is measured while the policy is quiet,
	// and 0 during the first 30 seconds.
	Background float64
	// Since is when the alert, or the quiet time, began.
	Since time.Time
}

// String returns the state in a few words.
func (s PolicyState) String() string {
	word := "quiet"
	if s.Alert != NoAlert {
		word = "alert: " + s.Alert.String()
	}
	return fmt.Sprintf("%s background=%.3g", word, s.Background)
}

// PolicyEvent describes the begin or the end of an alert.
type PolicyEvent struct {
	Throttle      *Throttle
	Before, After PolicyState
}

// String returns the event in one line.
func (e PolicyEvent) String() string {
	return fmt.Sprintf("%s: %v", fullName(e.Throttle), e.After)
}

func (t *Throttle) stateOf(s *stance) PolicyState {
	if t.monitor == nil {
		return PolicyState{}
	}
	return PolicyState{Alert: s.alert, Background: s.background, Since: t.base.Add(s.since).UTC().Round(0)}
}

// reportPolicy calls the PolicyChanged hook if the last refresh has begun or ended an alert. A refresh
// holds a lock, so it cannot call hooks.
func (t *Throttle) reportPolicy(ctx context.Context) {
	if t.policyChange.Load() != nil {
		t.callPolicyChanged(ctx)
	}
}

func (t *Throttle) callPolicyChanged(ctx context.Context) {
	if e := t.policyChange.Swap(nil); e != nil && !t.closed.Load() {
		t.hooks.PolicyChanged(ctx, *e)
	}
}
