package limits

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle/bucket"
)

// callers is the number of goroutines of a process that do a job, unless the job has another number.
const callers = 64

// job is a bucket, with the name of the job, from which all agents take tokens.
type job struct {
	Name     string
	Callers  int
	Keys     int // number of buckets, or anyKey; 0 is one bucket with the name of the job
	Limit    bucket.Limit
	OneByOne bool
	Policy   bucket.FailurePolicy
	Timeout  time.Duration
	Pause    time.Duration // after a denial
	Lease    int64
}

// anyKey means that each request has a new bucket.
const anyKey = -1

func (j job) callers() int {
	if j.Callers > 0 {
		return j.Callers
	}
	return callers
}

// key returns the bucket of a caller's next request.
func (j job) key(who int) string {
	switch {
	case j.Keys == anyKey:
		return fmt.Sprint(j.Name, rand.Uint64())
	case j.Keys > 0:
		return fmt.Sprint(j.Name, who%j.Keys)
	}
	return j.Name
}

// order has the settings of an agent.
type order struct {
	Agent    string
	Engine   engine
	Bucket   string // name of the store
	Log      string // file with the answers that it got
	Go       string // the agent begins when this file exists
	Stop     string // the agent stops when this file exists
	Jobs     []job
	Replicas int
}

// defaultTimeout is the default of bucket.Config.StoreTimeout.
const defaultTimeout = 50 * time.Millisecond

// longTimeout is the timeout of jobs whose store is healthy, for slow machines.
const longTimeout = time.Minute

// processes is the number of agents of a fleet.
const processes = 3

// fleet is processes that share buckets.
type fleet struct {
	order

	dir    string
	agents map[string]*program.Process
	lost   []string // agents that were killed
}

// newFleet starts processes that share new buckets. They begin at the same time.
func newFleet(t *testing.T, e engine, name string, jobs ...job) *fleet {
	t.Helper()
	f := &fleet{order: order{Engine: e, Bucket: name, Jobs: jobs, Replicas: processes}, dir: t.TempDir(), agents: map[string]*program.Process{}}
	f.Go, f.Stop = filepath.Join(f.dir, "go"), filepath.Join(f.dir, "stop")
	for i := range processes {
		f.start(t, string(rune('a'+i)))
	}
	for _, name := range f.names() {
		f.awaitLine(t, name, "ready")
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
	order := f.order
	order.Agent, order.Log = name, f.log(name)
	text, err := json.Marshal(order)
	if err != nil {
		t.Fatal(err)
	}
	f.agents[name] = program.Start(t, os.Args[0], asAgent, string(text))
}

func (f *fleet) log(name string) string { return filepath.Join(f.dir, name+".journal") }

// kill kills an agent in the middle of its work.
func (f *fleet) kill(t *testing.T, name string) {
	t.Helper()
	f.agents[name].Kill(t)
	delete(f.agents, name)
	f.lost = append(f.lost, name)
}

// names returns the running agents.
func (f *fleet) names() []string {
	var names []string
	for name := range f.agents {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// awaitLine waits until an agent prints a line that begins with word, and returns the rest of the line.
func (f *fleet) awaitLine(t *testing.T, name, word string) (rest string) {
	t.Helper()
	program.Eventually(t, name+" prints "+word, func() string {
		for line := range strings.Lines(f.agents[name].Output()) {
			if strings.HasPrefix(line, "program failed") {
				t.Fatal(name, " printed ", line)
			}
			if after, ok := strings.CutPrefix(line, word); ok && strings.HasSuffix(line, "\n") {
				rest = after
				return ""
			}
		}
		return "its output: " + f.agents[name].Output()
	})
	return rest
}

// stop stops the agents after their current calls, and returns the stats of their limiters.
func (f *fleet) stop(t *testing.T) map[string]map[string]bucket.Stats {
	t.Helper()
	touch(t, f.Stop)
	return f.sums(t)
}

// run lets the agents work for some time.
func (f *fleet) run(t *testing.T, d time.Duration) {
	t.Helper()
	program.Sleep(t.Context(), d)
	until := time.Now().UnixNano()
	program.Eventually(t, "all are answered", func() string {
		for _, name := range f.names() {
			for _, j := range f.Jobs {
				if len(f.answers(t, name, j.Name, byCaller).asked(until)) == 0 {
					return name + ", " + j.Name
				}
			}
		}
		return ""
	})
}

// sums waits until the agents have finished, and returns the stats of their limiters.
func (f *fleet) sums(t *testing.T) map[string]map[string]bucket.Stats {
	t.Helper()
	sums := map[string]map[string]bucket.Stats{}
	for _, name := range f.names() {
		var s map[string]bucket.Stats
		if err := json.Unmarshal([]byte(f.awaitLine(t, name, "done ")), &s); err != nil {
			t.Fatal(err)
		}
		sums[name] = s
	}
	return sums
}

// answers returns the answers that an agent got for a job.
func (f *fleet) answers(t *testing.T, agent, name string, l level) history {
	t.Helper()
	at := uint8(slices.IndexFunc(f.Jobs, func(j job) bool { return j.Name == name }))
	all, err := readJournal(f.log(agent))
	if err != nil && !os.IsNotExist(err) { // it has just started
		t.Fatal(err)
	}
	return history(all).that(func(d decision) bool { return d.Job == at && d.Level == l })
}

// all returns the answers that all agents got for a job, also the killed agents.
func (f *fleet) all(t *testing.T, name string, l level) history {
	t.Helper()
	var h history
	for _, agent := range append(f.names(), f.lost...) {
		h = append(h, f.answers(t, agent, name, l)...)
	}
	return h
}

// judge returns the judge of a job.
func (f *fleet) judge(j job) judge {
	return judge{limit: j.Limit.WithDefaults(), tick: f.Engine.Tick}
}

// checkCounts compares the stats of limiters with the answers that they gave. Killed agents have no
// stats.
func (f *fleet) checkCounts(t *testing.T, sums map[string]map[string]bucket.Stats) {
	t.Helper()
	for name, s := range sums {
		for _, j := range f.Jobs {
			var want bucket.Stats
			for _, d := range f.answers(t, name, j.Name, byCaller) {
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
				t.Errorf("%s, %s: got stats %+v want %+v, as in its answers", name, j.Name, got, want)
			}
		}
	}
}
