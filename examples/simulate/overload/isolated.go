package overload

import (
	"fmt"
	"strings"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// beside is how many calls per second a healthy priority offers beside a failing one.
const beside = 100

// unlike is a priority that fails for its own reason, and the healthy ones beside it.
type unlike struct {
	failing throttle.Priority
	share   float64 // of its calls that fail
	rate    float64 // of its calls, per second
	healthy []throttle.Priority
	clients int
}

// isolated are the scenarios in which one priority fails for its own reason beside healthy ones, which should not notice. The
// backend has capacity to spare.
func isolated() []Scenario {
	return []Scenario{
		isolate("isolation-warm", "one priority begins to fail beside healthy ones", func(u *unlike) []Phase {
			return []Phase{u.phase(before, true, false), u.phase(during, true, true)}
		}),
		isolate("isolation-cold", "one priority fails beside healthy ones from the start", func(u *unlike) []Phase {
			return []Phase{u.phase(during, true, true)}
		}),
		isolate("isolation-late", "healthy priorities begin beside one that has long been failing", func(u *unlike) []Phase {
			return []Phase{u.phase(90*time.Second, false, true), u.phase(during, true, true)}
		}),
	}
}

// isolate returns a scenario with a case for each setting.
func isolate(name, title string, phases func(*unlike) []Phase) Scenario {
	s := usual(name, "isolation", title)
	s.Cases = nil
	for _, u := range unlikes() {
		s.Cases = append(s.Cases, Case{Name: u.String(), Clients: u.clients, Phases: phases(&u)})
	}
	return s
}

// unlikes returns all settings.
func unlikes() []unlike {
	var all []unlike
	for _, failing := range []throttle.Priority{throttle.High, throttle.Important} {
		for _, share := range []float64{0.3, 0.5, 0.75, 1} {
			for _, rate := range []float64{100, 200, 400} {
				for _, healthy := range [][]throttle.Priority{{throttle.Low}, {throttle.Medium, throttle.Low}} {
					for _, clients := range []int{1, 20} {
						all = append(all, unlike{failing, share, rate, healthy, clients})
					}
				}
			}
		}
	}
	return all
}

// String names the setting.
func (u *unlike) String() string {
	var healthy []string
	for _, p := range u.healthy {
		healthy = append(healthy, p.String())
	}
	return fmt.Sprintf("%v of %v %v calls/s fail beside %v, %d clients",
		u.share, u.rate, u.failing, strings.Join(healthy, " and "), u.clients)
}

// phase is a time in which the healthy priorities offer calls or not, and the other one fails or not.
func (u *unlike) phase(length time.Duration, healthy, failing bool) Phase {
	p := Phase{Length: length, Capacity: 1, Disturbed: failing}
	p.Load[u.failing] = u.rate / usualCapacity
	if failing {
		p.Failing[u.failing] = u.share
	}
	if healthy {
		for _, priority := range u.healthy {
			p.Load[priority] = beside / float64(usualCapacity)
		}
	}
	return p
}
