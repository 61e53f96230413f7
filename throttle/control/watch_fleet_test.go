package control_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/control"
)

// TestWatch_fleet lets 40 Controls watch one file that is replaced 1,000 times (100 with -short). A tenth of the documents are torn or
// wrong. In a valid one the ratio of "a" is 1 more than that of "b", so that part of a document is seen. Every watcher ends with the
// last valid document.
func TestWatch_fleet(t *testing.T) {
	watchers, replacements := 40, 1000
	if testing.Short() {
		replacements = 100
	}
	path := filepath.Join(t.TempDir(), "control.json")
	replace(t, path, ratios(3))
	var fleet []*fleetMember
	for range watchers {
		fleet = append(fleet, newFleetMember(t, path))
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
	for _, m := range fleet {
		eventually(t, "the last document", func() bool { return m.a.Stats().Ratio == float64(last+1) })
		m.stop(t)
	}
}

// ratios returns a document in which the ratio of a is 1 more than that of b.
func ratios(b int) string {
	return fmt.Sprintf("{\"throttles\": {\n\t\"a\": {\"ratio\": %d},\n\t\"b\": {\"ratio\": %d}\n}}", b+1, b)
}

// fleetMember is one Control that watches the file.
type fleetMember struct {
	a, b *throttle.Throttle
	end  context.CancelFunc

	mu    sync.Mutex
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
	if a != b+1 {
		m.wrong = append(m.wrong, fmt.Sprintf("a %v, b %v", a, b))
	}
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
