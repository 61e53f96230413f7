package overload

import (
	"fmt"
	"time"
)

// truth returns the scenarios of backends that say their load: see Reports.
func truth() []Scenario {
	five := disturbedBy(Phase{Length: during, Load: mix(5), Capacity: 1})
	reporting := func(name, title string, b Backend, r Reports, phases ...Phase) Scenario {
		s := usual(name, "reports", title, phases...)
		s.Backend, s.Reports = b, &r
		return s
	}
	mixed := reporting("reports-mixed", "5 times the load, and every second client ignores load reports", Aware, Reports{}, five...)
	mixed.Others = "tiered"
	few := reporting("reports-few", "5 times the load, from 1000 clients with 2 calls/s each", Aware, Reports{}, five...)
	few.Clients, few.KeepClients, few.Capacity = 1000, true, 400
	all := []Scenario{
		reporting("reports5", "5 times the load, and a backend that says its load", Aware, Reports{}, five...),
		reporting("reports-late", "the same, and the reports are half a second old", Aware, Reports{Delay: 500 * time.Millisecond}, five...),
		reporting("reports-lost", "the same, and half of the answers have no report", Aware, Reports{Lost: 0.5}, five...),
		mixed, few,
		reporting("always-calm", "5 times the load, and a backend that always says it is calm", Blind, Reports{Lie: AlwaysCalm}, five...),
		reporting("always-calm-half", "capacity falls to half for a minute, and the backend always says it is calm", Blind, Reports{Lie: AlwaysCalm},
			lostNode(60, 0.5, 0)...),
		reporting("always-full", "80 % load, and a backend that always says it sheds all", Blind, Reports{Lie: AlwaysFull}, undisturbed(after, usualLoad, 0.01)),
		reporting("always-full5", "5 times the load, and a backend that always says it sheds all", Blind, Reports{Lie: AlwaysFull}, five...),
	}
	for _, percent := range []int{10, 20, 30} {
		share := float64(percent) / 100
		all = append(all, reporting(fmt.Sprintf("reports-join%d", percent), fmt.Sprintf("load grows from 30 to 75 %% as %d %% errors begin, and the backend says it is calm", percent),
			Aware, Reports{}, act(60, 0.3, 0, 0), act(240, 0.75, share, disturbed|counted)))
	}
	return all
}
