package limits

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle"
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

func (j job) callers() int { return cmp.Or(j.Callers, callers) }

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
	Engine   engine
	Bucket   string // name of the store
	Log      string // file with the answers that it got
	Go       string // the agent begins when this file exists
	Stop     string // the agent stops when this file exists
	Jobs     []job
	Replicas int
}

// longTimeout is the timeout of jobs whose store is healthy, for slow machines.
const longTimeout = time.Minute

const processes = 3

// The first argument with which the test binary runs as an agent, or as a process of a benchmark.
const asAgent, asCrowd = "agent", "crowd"

// TestMain runs all engines at once.
func TestMain(m *testing.M) {
	program.Main(m, 4, map[string]func([]string) error{asAgent: runAgent, asCrowd: runCrowd})
}

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

func touch(t *testing.T, file string) { must(t, os.WriteFile(file, nil, 0o600)) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (f *fleet) start(t *testing.T, name string) {
	t.Helper()
	order := f.order
	order.Log = f.log(name)
	text := throttle.Must(json.Marshal(order))
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

func (f *fleet) names() []string { return slices.Sorted(maps.Keys(f.agents)) }

// awaitLine waits until an agent prints a word as a line.
func (f *fleet) awaitLine(t *testing.T, name, word string) {
	t.Helper()
	program.Eventually(t, name+" prints "+word, func() string {
		for line := range strings.Lines(f.agents[name].Output()) {
			if strings.HasPrefix(line, "program failed") {
				t.Fatal(name, " printed ", line)
			}
			if line == word+"\n" {
				return ""
			}
		}
		return "its output: " + f.agents[name].Output()
	})
}

// stop stops the agents after their current calls.
func (f *fleet) stop(t *testing.T) {
	t.Helper()
	touch(t, f.Stop)
	for _, name := range f.names() {
		f.awaitLine(t, name, "done")
	}
}

// run lets the agents work for some time.
func (f *fleet) run(t *testing.T, d time.Duration) {
	t.Helper()
	program.Sleep(t.Context(), d)
	until := time.Now().UnixNano()
	program.Eventually(t, "all are answered", func() string {
		for _, name := range f.names() {
			for _, j := range f.Jobs {
				if len(f.answers(t, name, j.Name).asked(until)) == 0 {
					return name + ", " + j.Name
				}
			}
		}
		return ""
	})
}

func (f *fleet) answers(t *testing.T, agent, name string) history {
	t.Helper()
	at := uint8(slices.IndexFunc(f.Jobs, func(j job) bool { return j.Name == name }))
	all, err := readJournal(f.log(agent))
	if err != nil && !os.IsNotExist(err) { // it has just started
		t.Fatal(err)
	}
	return history(all).that(func(d decision) bool { return d.Job == at })
}

// all returns the answers that all agents got for a job, also the killed agents.
func (f *fleet) all(t *testing.T, name string) history {
	t.Helper()
	var h history
	for _, agent := range append(f.names(), f.lost...) {
		h = append(h, f.answers(t, agent, name)...)
	}
	return h
}

func (f *fleet) judge(j job) judge {
	return judge{limit: j.Limit.WithDefaults(), tick: f.Engine.Tick}
}
