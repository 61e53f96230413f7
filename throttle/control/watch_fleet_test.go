package control_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/control"
)

// TestWatch_fleet lets 40 Controls, and as many processes (4 with -short), watch one file that is replaced 1,000 times. A tenth of the
// documents are torn or wrong. In a valid one the ratio of "a" is 1 more than that of "b", so that part of a document
// is seen. Every watcher ends with the last valid document.
func TestWatch_fleet(t *testing.T) {
	watchers, processes, replacements := 40, 40, 1000
	if testing.Short() {
		processes, replacements = 4, 100
	}
	path := filepath.Join(t.TempDir(), "control.json")
	replace(t, path, ratios(3))
	var fleet []*fleetMember
	for range watchers {
		fleet = append(fleet, newFleetMember(t, path))
	}
	var children []*exec.Cmd
	var outputs []*bytes.Buffer
	for range processes {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestWatch_process$")
		child.Env = append(os.Environ(), "CONTROL_FILE="+path)
		output := &bytes.Buffer{}
		outputs = append(outputs, output)
		child.Stdout, child.Stderr = output, output
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		children = append(children, child)
	}
	dice, last := rand.New(rand.NewPCG(1, 2)), 0
	for i := range replacements {
		text := ratios(4 + i)
		switch {
		case i%10 != 5:
			last = 4 + i
		case i%20 == 5:
			text = text[:dice.IntN(len(text))]
		default:
			text = strings.Replace(text, `"b": {"ratio": `, `"b": {"ratio": -`, 1)
		}
		if i%3 == 0 {
			write(t, path, text) // not atomic
		} else {
			replace(t, path, text)
		}
		time.Sleep(time.Duration(dice.IntN(20)) * time.Millisecond)
	}
	written := time.Now()
	var slowest time.Duration
	for _, m := range fleet {
		eventually(t, "the last document", func() bool { return m.ratioOfA() == float64(last+1) })
		slowest = max(slowest, m.appliedAt().Sub(written))
		m.stop(t)
	}
	t.Logf("%d watchers, %d replacements: the last document was in force everywhere %v after it was written", watchers, replacements, slowest)
	replace(t, path, ratios(999_999))
	slowest = 0
	for i, child := range children {
		if err := child.Wait(); err != nil {
			t.Errorf("a process: %v: %s", err, outputs[i])
		}
		_, after, _ := strings.Cut(outputs[i].String(), applied)
		took, err := time.ParseDuration(strings.TrimSpace(strings.SplitN(after, "\n", 2)[0]))
		if err != nil {
			t.Errorf("a process: %v: %s", err, outputs[i])
		}
		slowest = max(slowest, took)
	}
	t.Logf("%d processes: the last document was in force everywhere %v after it was written", processes, slowest)
}

// applied is what a process prints before the time after which the last document was in force.
const applied = "applied after "

// ratios returns a document in which the ratio of a is 1 more than that of b.
func ratios(b int) string {
	return fmt.Sprintf("{\"throttles\": {\n\t\"a\": {\"ratio\": %d},\n\t\"b\": {\"ratio\": %d}\n}}", b+1, b)
}

// fleetMember is one Control that watches the file.
type fleetMember struct {
	a, b *throttle.Throttle
	end  context.CancelFunc

	mu    sync.Mutex
	last  time.Time
	wrong []string
}

func newFleetMember(t testing.TB, path string) *fleetMember {
	m := &fleetMember{}
	c := newControl(t, control.Hooks{Tuned: m.tuned})
	m.a, m.b = newThrottle(t, c, "a"), newThrottle(t, c, "b")
	ctx, end := context.WithCancel(t.Context())
	m.end = end
	if err := c.Watch(ctx, path); err != nil {
		t.Fatal(err)
	}
	return m
}

// tuned checks that both lines are of one document: the hooks of a document are called when all of it is in force.
func (m *fleetMember) tuned(context.Context, control.TunedEvent) {
	a, b := m.a.Stats().Ratio, m.b.Stats().Ratio
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last = time.Now()
	if a != b+1 {
		m.wrong = append(m.wrong, fmt.Sprintf("a %v, b %v", a, b))
	}
}

func (m *fleetMember) ratioOfA() float64 { return m.a.Stats().Ratio }

func (m *fleetMember) appliedAt() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last
}

func (m *fleetMember) stop(t testing.TB) {
	t.Helper()
	m.end()
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.wrong) > 0 {
		t.Errorf("part of a document was in force: %q", m.wrong)
	}
}

// TestWatch_process is a process of TestWatch_fleet. It ends when it has the last document.
func TestWatch_process(t *testing.T) {
	path := os.Getenv("CONTROL_FILE")
	if path == "" {
		t.Skip("it is a part of TestWatch_fleet")
	}
	m := newFleetMember(t, path)
	eventually(t, "the last document", func() bool { return m.ratioOfA() == 1_000_000 })
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(applied + m.appliedAt().Sub(info.ModTime()).String())
	m.stop(t)
}
