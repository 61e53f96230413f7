package throttle

import (
	"context"

	"github.com/spillway-go/spillway/throttle/internal/enum"
)

// Outcome is what became of a call, as far as the backend's capacity is concerned.
type Outcome uint8

const (
	// Accepted means that the backend did its work, even if its answer is an ordinary error.
	Accepted Outcome = iota
	// Rejected means that the backend was out of capacity.
	Rejected
	// Ignored means that the call says nothing about capacity, because the caller gave up or the function panicked.
	Ignored
	// Shed means that the throttle refused the call, which was never made.
	Shed

	// NumOutcomes is the number of outcomes.
	NumOutcomes = iota
)

// String returns the outcome's word: "accepted", "rejected", "ignored" or "shed".
func (o Outcome) String() string {
	return enum.Name("outcome", o, "accepted rejected ignored shed")
}

// MarshalText returns the outcome's word, and an error if it has none.
func (o Outcome) MarshalText() ([]byte, error) { return enum.Marshal(o, Accepted, Shed) }

// UnmarshalText takes the outcome's word, to the letter. Any other text is an error that names the words, and changes nothing.
func (o *Outcome) UnmarshalText(text []byte) error { return enum.Unmarshal(o, text, Accepted, Shed) }

// Classifier says what an error tells about the backend's capacity. With ok false it has no opinion, and the next one
// is asked. It never sees nil, nor an error marked with [MarkRejected]: those are decided. It runs on the caller's goroutine,
// with no lock held, and may call the throttle. Of the outcomes it can give Accepted, Rejected and Ignored; any other
// counts as no opinion.
type Classifier func(ctx context.Context, err error) (o Outcome, ok bool)

// DefaultClassify is how a throttle classifies without a Config.Classify, and what it falls back on with one.
//
//   - nil is Accepted.
//   - An error marked with [MarkRejected] is Rejected, wherever in its tree the mark is.
//   - [ErrShed], of what another throttle, a breaker, a bucket or a backoff shed inside the call, is Ignored: it says nothing about this backend.
//   - faults.AvailabilityFailure, faults.QuotaFailure, context.DeadlineExceeded, os.ErrDeadlineExceeded and errors whose
//     Timeout method returns true are Rejected.
//   - context.Canceled is Ignored, and so is [ErrPanicked], with which a two-phase call may be ended.
//   - Every other error is Accepted: a backend that answers "not found" is working.
//
// Of a tree of wrapped errors the first thousand are looked at.
func DefaultClassify(_ context.Context, err error) Outcome {
	if err == nil {
		return Accepted
	}
	f := examine(err)
	return f.outcome()
}

func (f *findings) outcome() Outcome {
	switch {
	case f.marked:
		return Rejected
	case f.has(FaultShed):
		return Ignored
	case f.has(FaultAvailability), f.has(FaultQuota), f.has(FaultTimeout):
		return Rejected
	case f.has(FaultCanceled), f.has(FaultPanic):
		return Ignored
	}
	return Accepted
}

// classify returns the outcome and the fault of a call that ended with err, which is not nil.
func (t *Throttle) classify(ctx context.Context, err error) (Outcome, Fault) {
	f := examine(err)
	if !f.marked && t.classifier != nil {
		if o, ok := t.classifier(ctx, err); ok && o < Shed {
			return o, f.fault()
		}
	}
	return f.outcome(), f.fault()
}

// First asks each classifier in turn and takes the first opinion. Nil ones are passed over.
func First(classifiers ...Classifier) Classifier {
	return func(ctx context.Context, err error) (Outcome, bool) {
		for _, classify := range classifiers {
			if classify == nil {
				continue
			}
			if o, ok := classify(ctx, err); ok && o < Shed {
				return o, true
			}
		}
		return Ignored, false
	}
}

// RejectIf counts an error as Rejected if is reports true, and has no opinion otherwise.
func RejectIf(is func(error) bool) Classifier { return outcomeIf(Rejected, is) }

// AcceptIf counts an error as Accepted if is reports true, and has no opinion otherwise.
func AcceptIf(is func(error) bool) Classifier { return outcomeIf(Accepted, is) }

// IgnoreIf counts an error as Ignored if is reports true, and has no opinion otherwise.
func IgnoreIf(is func(error) bool) Classifier { return outcomeIf(Ignored, is) }

func outcomeIf(o Outcome, is func(error) bool) Classifier {
	return func(_ context.Context, err error) (Outcome, bool) {
		return o, is != nil && is(err)
	}
}
