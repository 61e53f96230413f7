package store

import (
	"log/slog"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/enum"
)

// Source is where a [Decision] was made. A store leaves it at SourceStore.
type Source uint8

const (
	// SourceStore is a decision of the store.
	SourceStore Source = iota
	// SourcePolicy is a decision of Config.OnFailure, because the store gave no answer.
	SourcePolicy
	// SourceLease is a decision from tokens that were fetched before: see Config.Lease.
	SourceLease
)

// String returns "store", "policy" or "lease".
func (s Source) String() string { return enum.Name("source", s, "store policy lease") }

// MarshalText returns the name of the source, or an error if s is not a valid source.
func (s Source) MarshalText() ([]byte, error) { return enum.Marshal(s, SourceStore, SourceLease) }

// UnmarshalText sets s to the source with that name. Any other text is an error and does not
// change s.
func (s *Source) UnmarshalText(text []byte) error {
	return enum.Unmarshal(s, text, SourceStore, SourceLease)
}

// Decision is the answer to a request for tokens.
type Decision struct {
	// Allowed reports whether the request was granted.
	Allowed bool
	// Granted is the number of tokens granted. It is 0 if Allowed is false.
	Granted int64
	// Remaining is the number of tokens that are left.
	Remaining int64
	// Limit is the capacity of the bucket.
	Limit int64
	// RetryAfter is how long to wait before the denied tokens are available, if no other caller
	// takes them first. If only some of the tokens were granted, it is the time to the next token.
	RetryAfter time.Duration
	// ResetAfter is the time until the bucket is full, if no more tokens are taken.
	ResetAfter time.Duration
	// Source is where the decision was made.
	Source Source
}

// LogValue returns the fields of the decision as a group.
func (d Decision) LogValue() slog.Value {
	return slog.GroupValue(
		slog.Bool("allowed", d.Allowed),
		slog.Int64("granted", d.Granted),
		slog.Int64("remaining", d.Remaining),
		slog.Int64("limit", d.Limit),
		slog.Duration("retry_after", d.RetryAfter),
		slog.Duration("reset_after", d.ResetAfter),
		slog.String("source", d.Source.String()),
	)
}
