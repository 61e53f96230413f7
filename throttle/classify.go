package throttle

import (
	"context"
	"iter"

	"github.com/spillway-go/spillway/throttle/internal/enum"
)

// Outcome is the result of a call with respect to the capacity of the backend.
type Outcome uint8

const (
	// Accepted means that the backend did its work, even if its answer is an ordinary error.
	Accepted Outcome = iota
	// Rejected means that the backend was out of capacity, or may have been: it was down, or did not
	// answer in time.
	Rejected
	// Ignored means that the result does not depend on capacity: the caller cancelled, or the
	// function panicked.
	Ignored
	// Shed means that the throttle shed the call: it was not made.
	Shed

	numOutcomes = iota
)

// Overloaded is what a [Classifier] and [Call.Finish] say of a rejection if the backend is full for
// certain: see [MarkOverloaded]. The call counts as [Rejected]; [PriorityStats].Overloaded counts it too.
const Overloaded Outcome = numOutcomes

func (o Outcome) isClassified() bool { return o < Shed || o == Overloaded }

func (o Outcome) counted() Outcome {
	if o == Overloaded {
		return Rejected
	}
	return o
}

// Outcomes yields every outcome that is counted: [Overloaded] is counted as [Rejected].
func Outcomes() iter.Seq[Outcome] { return enum.All(Accepted, Shed) }

// String returns "accepted", "rejected", "ignored", "shed" or "overloaded".
func (o Outcome) String() string {
	return enum.Name("outcome", o, "accepted rejected ignored shed overloaded")
}

// MarshalText returns the word of the outcome, or an error if the outcome is not defined.
func (o Outcome) MarshalText() ([]byte, error) { return enum.Marshal(o, Accepted, Overloaded) }

// UnmarshalText reads the word of an outcome. Any other text is an error, and does not change o.
func (o *Outcome) UnmarshalText(text []byte) error {
	return enum.Unmarshal(o, text, Accepted, Overloaded)
}

// Classifier returns the outcome of a call that ended with err: Accepted, Rejected, Overloaded or Ignored.
// If ok is false or the outcome is another one, it has no opinion and the next classifier decides. It
// is never called with nil, nor with an error that has a mark of [MarkRejected] or [MarkOverloaded]. It is
// called on the caller's goroutine, with no lock held, and may call the throttle.
type Classifier func(ctx context.Context, err error) (o Outcome, ok bool)

// DefaultClassify returns the outcome of err if no Config.Classify decides:
//
//   - nil is Accepted.
//   - An error marked with [MarkRejected] or [MarkOverloaded] is Rejected, wherever the mark is in its
//     tree of wrapped errors.
//   - [ErrShed] is Ignored: another throttle, breaker, bucket or backoff shed inside the call, and
//     this backend was not asked.
//   - faults.AvailabilityFailure, faults.QuotaFailure, context.DeadlineExceeded,
//     os.ErrDeadlineExceeded and errors whose Timeout method returns true are Rejected.
//   - context.Canceled and [ErrPanicked] are Ignored. With Config.CanceledAfter, the throttle counts
//     a call that was cancelled late as Rejected.
//   - Every other error is Accepted: a backend that answers "not found" works.
//
// If the outcome is Rejected, the backend is full for certain if the error has a mark of
// [MarkOverloaded], is a faults.QuotaFailure, or is a faults.AvailabilityFailure that asks to wait.
//
// So a refused connection or a gRPC status of a hand-written client counts as Accepted. Mark such
// errors with [MarkRejected], set Config.Classify, or use packages httpthrottle, grpcthrottle and
// connectthrottle, which classify them.
//
// DefaultClassify examines at most 1,000 errors of a tree.
func DefaultClassify(_ context.Context, err error) Outcome {
	if err == nil {
		return Accepted
	}
	f := examine(err)
	return f.outcome()
}

// Classify returns the outcome that the throttle counts for a call that ended with err: that of
// Config.Classify, else that of [DefaultClassify]. It counts nothing. It cannot know that a call was
// cancelled late (Config.CanceledAfter), or ended while calls wait for a processor
// (Config.ProcessorWait). A nil or zero Throttle has no Config.
func (t *Throttle) Classify(ctx context.Context, err error) Outcome {
	if err == nil {
		return Accepted
	}
	f := examine(err)
	if !f.marked && t.valid() {
		if o, ok := t.classifier.opinion(ctx, err); ok {
			return o.counted()
		}
	}
	return f.outcome()
}

// opinion returns the outcome of err if the classifier has an opinion on it. A nil one has none.
func (c Classifier) opinion(ctx context.Context, err error) (o Outcome, ok bool) {
	if c == nil {
		return o, false
	}
	o, ok = c(ctx, err)
	return o, ok && o.isClassified()
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

// First returns a classifier that calls each of the given ones in order and returns the first
// opinion. It skips nil ones.
func First(classifiers ...Classifier) Classifier {
	return func(ctx context.Context, err error) (Outcome, bool) {
		for _, classify := range classifiers {
			if o, ok := classify.opinion(ctx, err); ok {
				return o, true
			}
		}
		return Ignored, false
	}
}

// RejectIf returns [Rejected] for errors for which is returns true. It has no opinion on others.
func RejectIf(is func(error) bool) Classifier { return outcomeIf(Rejected, is) }

// OverloadIf returns [Overloaded] for errors for which is returns true. It has no opinion on others.
func OverloadIf(is func(error) bool) Classifier { return outcomeIf(Overloaded, is) }

// AcceptIf returns [Accepted] for errors for which is returns true. It has no opinion on others.
func AcceptIf(is func(error) bool) Classifier { return outcomeIf(Accepted, is) }

// IgnoreIf returns [Ignored] for errors for which is returns true. It has no opinion on others.
func IgnoreIf(is func(error) bool) Classifier { return outcomeIf(Ignored, is) }

func outcomeIf(o Outcome, is func(error) bool) Classifier {
	return func(_ context.Context, err error) (Outcome, bool) {
		return o, is != nil && is(err)
	}
}
