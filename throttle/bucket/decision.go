package bucket

import "github.com/spillway-go/spillway/throttle/bucket/store"

// Decision is the answer to a request for tokens: see [store.Decision]. Its fields are:
//
//	Allowed    bool          // the request was granted
//	Granted    int64         // tokens granted; 0 if Allowed is false
//	Remaining  int64         // tokens left
//	Limit      int64         // capacity of the bucket
//	RetryAfter time.Duration // time until the denied tokens are available, if no other caller takes them
//	ResetAfter time.Duration // time until the bucket is full, if no more tokens are taken
//	Source     Source        // where the decision was made
type Decision = store.Decision

// Source is where a [Decision] was made.
type Source = store.Source

const (
	// SourceStore is a decision of the store.
	SourceStore Source = store.SourceStore
	// SourcePolicy is a decision of Config.OnFailure, because the store gave no answer.
	SourcePolicy Source = store.SourcePolicy
	// SourceLease is a decision from tokens that were fetched before: see Config.Lease.
	SourceLease Source = store.SourceLease
)
