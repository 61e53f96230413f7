package bucket

import (
	"time"

	"github.com/spillway-go/spillway/throttle/internal/enum"
)

// Source says who decided.
type Source uint8

const (
	// SourceStore is the source of what the store decided.
	SourceStore Source = iota
	// SourcePolicy is the source of what Config.OnFailure decided, because the store could not.
	SourcePolicy
	// SourceLease is the source of what was granted out of tokens that were fetched before.
	SourceLease
)

// String returns the source's word: "store", "policy" or "lease".
func (s Source) String() string {
	return enum.Name("source", s, "store policy lease")
}

// MarshalText returns the source's word, and an error if it has none.
func (s Source) MarshalText() ([]byte, error) { return enum.Marshal(s, SourceStore, SourceLease) }

// UnmarshalText takes the source's word, to the letter. Any other text is an error that names the words, and changes nothing.
func (s *Source) UnmarshalText(text []byte) error {
	return enum.Unmarshal(s, text, SourceStore, SourceLease)
}

// Decision is the answer to a request for tokens.
type Decision struct {
	Allowed    bool
	Granted    int64         // 0 if not Allowed
	Remaining  int64         // that could be taken at once
	Limit      int64         // the capacity
	RetryAfter time.Duration // how long to wait for what was denied, or for the next token if only a part was granted, if nobody else takes it
	ResetAfter time.Duration // until the bucket is full, if nobody takes more
	Source     Source
}
