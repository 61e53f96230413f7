package limits

import (
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// callers is how many goroutines of a process ask for the tokens of one bucket.
const callers = 64

// manner is how a job asks.
type manner string

const (
	asks   manner = "asks"   // for one token, again and again
	waits  manner = "waits"  // for one token, so many times, in line
	quiet  manner = "quiet"  // alone, and comes again just before and just after it was told to
	rushes manner = "rushes" // as fast as it can, and only counts
)

// job is a bucket that all agents ask for tokens, under the job's name.
type job struct {
	Name     string
	Manner   manner
	Limit    bucket.Limit
	OneByOne bool
	Policy   bucket.FailurePolicy
	Timeout  time.Duration
	Pace     time.Duration // between being denied and asking again
	Rounds   int           // of each who waits
	Lease    int64
}

// order is what an agent is told to do.
type order struct {
	Agent  string
	Engine engine
	Bucket string // name of the store
	Log    string // where it records what it is answered
	Go     string // a file: when it is there, the agent begins
	Stop   string // a file: when it is there, the agent stops
	Jobs   []job
}

// patient is the timeout of jobs whose store is healthy: on a machine that is as slow as it likes.
const patient = time.Minute

// sum is what an agent tells at its end.
type sum struct {
	Stats   map[string]bucket.Stats // by job
	Rushed  map[string]int64
	Elapsed time.Duration
}
