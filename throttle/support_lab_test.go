package throttle

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/window"
)

// lab is a throttle on a clock and dice of its own.
type lab struct {
	*Throttle
	now     time.Time
	dice    *rand.Rand
	failure error // of the calls that fail in run; nil for a deadline
}

func newLab(t *testing.T, seed uint64, c Config) *lab {
	t.Helper()
	l := &lab{now: time.Unix(0, 0), dice: rand.New(rand.NewPCG(seed, seed))}
	c.Name = "lab"
	c.Now = func() time.Time { return l.now }
	if c.Rand == nil {
		c.Rand = l.dice.Float64
	}
	l.Throttle = Must(New(c))
	return l
}

// call makes a call that ends as told, and reports whether it was admitted.
func (l *lab) call(p Priority, err error) bool {
	admitted := false
	_ = l.Do(context.Background(), p, func(context.Context) error {
		admitted = true
		return err
	})
	return admitted
}

func (l *lab) calls(n int, p Priority, err error) {
	for range n {
		l.call(p, err)
	}
}

// history makes random calls: calm and stormy times, pauses, some priorities worse off than others.
func (l *lab) history(steps int, each func()) {
	storm, pause := 0.0, int64(10*time.Millisecond)
	for range steps {
		if l.dice.IntN(100) == 0 {
			storm, pause = math.Pow(l.dice.Float64(), 2), int64(1)<<(10+l.dice.IntN(26))
		}
		p := Priority(l.dice.IntN(l.priorities))
		var err error
		if l.dice.Float64() < storm/float64(1+int(p)%2) {
			err = context.DeadlineExceeded
		}
		l.now = l.now.Add(time.Duration(l.dice.Int64N(2 * pause)))
		each()
		l.call(p, err)
	}
}

// load is a stream of calls of one priority that fail at a rate.
type load struct {
	priority   Priority
	every      time.Duration
	failing    float64
	from, till time.Duration // of the run; till 0 is its end

	admitted, shed int
	next           time.Duration
}

func (o *load) share() float64 { return float64(o.admitted) / float64(max(1, o.admitted+o.shed)) }

func perSecond(rate float64) time.Duration { return time.Duration(float64(time.Second) / rate) }

// bothPolicies runs a test for each.
func bothPolicies(t *testing.T, test func(t *testing.T, policy Policy)) {
	for _, policy := range []Policy{SRE, Tiered} {
		t.Run(policy.String(), func(t *testing.T) { test(t, policy) })
	}
}

// tier is a window's content for one priority: accepted, rejected and shed.
func tier(acc, rej, shed uint64) window.Counts {
	return window.Counts{Accepted: acc, Rejected: rej, Shed: shed}
}

// wantNear fails the test unless got is want, but for rounding.
func wantNear(t testing.TB, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9 {
		t.Errorf("%s: got %.15f want %.15f", what, got, want)
	}
}

// run plays loads against the lab's throttle for as long as told.
func (l *lab) run(length time.Duration, loads ...*load) {
	begin := l.now
	for _, o := range loads {
		o.next = o.from
	}
	for {
		o := loads[0]
		for _, other := range loads {
			if other.next < o.next {
				o = other
			}
		}
		if o.next >= length {
			break
		}
		l.now = begin.Add(o.next)
		if o.next += o.every; o.till > 0 && o.next >= o.till {
			o.next = length
		}
		var err error
		if l.dice.Float64() < o.failing {
			err = cmp.Or(l.failure, context.DeadlineExceeded)
		}
		if l.call(o.priority, err) {
			o.admitted++
		} else {
			o.shed++
		}
	}
	l.now = begin.Add(length)
}

// sized returns quick with go test -short, and full without: the size of a test.
func sized[T any](full, quick T) T {
	if testing.Short() {
		return quick
	}
	return full
}
