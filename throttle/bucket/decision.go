package bucket

import "time"

// Source says who decided.
type Source uint8

const (
	// FromStore is the source of what the store decided.
	FromStore Source = iota
	// FromPolicy is the source of what Config.OnFailure decided, because the store could not.
	FromPolicy
	// FromLease is the source of what was granted out of tokens that were fetched before.
	FromLease

	numSources = iota
)

// String returns the source's word: "store", "policy" or "lease".
func (s Source) String() string {
	return [...]string{"store", "policy", "lease", "unknown"}[min(s, numSources)]
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
