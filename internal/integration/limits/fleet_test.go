package limits

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle/bucket"
)

// callers is how many goroutines of a process ask for the tokens of one bucket.
const callers = 64

// manner is how a job asks.
type manner string

const (
	asks  manner = "asks"  // for one token, again and again
	waits manner = "waits" // for one token, so many times, in line
	quiet manner = "quiet" // alone, and comes again just before and just after it was told to
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

// processes is how many a fleet has.
const processes = 3

// fleet is some processes that share buckets.
type fleet struct {
	order

	dir    string
	agents map[string]*program.Process
	lost   []string // agents that were killed
}

// newFleet starts processes that share buckets which nobody has used. They begin together.
func newFleet(t *testing.T, e engine, name string, jobs ...job) *fleet {
	t.Helper()
	f := &fleet{order: order{Engine: e, Bucket: name, Jobs: jobs}, dir: t.TempDir(), agents: map[string]*program.Process{}}
	f.Go, f.Stop = filepath.Join(f.dir, "go"), filepath.Join(f.dir, "stop")
	for _, name := range []string{"a", "b", "c"} {
		f.start(t, name)
	}
	for _, name := range f.names() {
		f.awaitWord(t, name, "ready")
	}
	touch(t, f.Go)
	return f
}

func touch(t *testing.T, file string) {
	t.Helper()
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (f *fleet) start(t *testing.T, name string) {
	t.Helper()
	told := f.order
	told.Agent, told.Log = name, f.log(name)
	text, err := json.Marshal(told)
	if err != nil {
		t.Fatal(err)
	}
	f.agents[name] = program.Start(t, os.Args[0], asAgent, string(text))
}

func (f *fleet) log(name string) string { return filepath.Join(f.dir, name+".journal") }

// kill ends an agent in the middle of what it does.
func (f *fleet) kill(t *testing.T, name string) {
	t.Helper()
	f.agents[name].Kill(t)
	delete(f.agents, name)
	f.lost = append(f.lost, name)
}

// names returns the agents that live.
func (f *fleet) names() []string {
	var names []string
	for name := range f.agents {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// awaitWord waits until an agent says something, and returns what follows on that line.
func (f *fleet) awaitWord(t *testing.T, name, word string) (rest string) {
	t.Helper()
	program.Eventually(t, name+" says "+word, func() string {
		for line := range strings.Lines(f.agents[name].Output()) {
			if strings.HasPrefix(line, "sorry") {
				t.Fatal(name, " says ", line)
			}
			if after, ok := strings.CutPrefix(line, word); ok && strings.HasSuffix(line, "\n") {
				rest = after
				return ""
			}
		}
		return "it has said: " + f.agents[name].Output()
	})
	return rest
}

// stop lets the agents finish what they have asked, and returns what they have counted.
func (f *fleet) stop(t *testing.T) map[string]map[string]bucket.Stats {
	t.Helper()
	touch(t, f.Stop)
	return f.sums(t)
}

// sums waits until the agents have done all, and returns what they have counted.
func (f *fleet) sums(t *testing.T) map[string]map[string]bucket.Stats {
	t.Helper()
	sums := map[string]map[string]bucket.Stats{}
	for _, name := range f.names() {
		var s map[string]bucket.Stats
		if err := json.Unmarshal([]byte(f.awaitWord(t, name, "done ")), &s); err != nil {
			t.Fatal(err)
		}
		sums[name] = s
	}
	return sums
}

// told returns what an agent was answered for a job.
func (f *fleet) told(t *testing.T, agent, name string, l level) history {
	t.Helper()
	at := uint8(slices.IndexFunc(f.Jobs, func(j job) bool { return j.Name == name }))
	all, err := readJournal(f.log(agent))
	if err != nil && !os.IsNotExist(err) { // it has only begun
		t.Fatal(err)
	}
	return history(all).that(func(d decision) bool { return d.Job == at && d.Level.on(l) })
}

// all returns what all agents were answered for a job, also those that were killed.
func (f *fleet) all(t *testing.T, name string, l level) history {
	t.Helper()
	var h history
	for _, agent := range append(f.names(), f.lost...) {
		h = append(h, f.told(t, agent, name, l)...)
	}
	return h
}

// judge returns who judges a job.
func (f *fleet) judge(j job) judge { return judge{limit: j.Limit.WithDefaults(), tick: f.Engine.Tick} }

// checkCounts compares what the limiters of those who have ended well count with what they have answered.
func (f *fleet) checkCounts(t *testing.T, sums map[string]map[string]bucket.Stats) {
	t.Helper()
	for name, s := range sums {
		for _, j := range f.Jobs {
			var want bucket.Stats
			for _, d := range f.told(t, name, j.Name, byCaller) {
				switch {
				case d.Outcome == failed, d.Granted == 0 && d.Source == bucket.SourcePolicy:
					want.FailedClosed++
				case d.Granted > 0 && d.Source == bucket.SourcePolicy:
					want.FailedOpen++
				case d.Granted > 0:
					want.Granted++
				default:
					want.Denied++
				}
				want.Tokens += uint64(d.Granted)
			}
			got := s[j.Name]
			got.Name, got.OnFailure, got.Limit = "", 0, bucket.Limit{}
			if got != want {
				t.Errorf("%s, %s: counts %+v, and has answered %+v", name, j.Name, got, want)
			}
		}
	}
}
