package sources

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/control"
	"github.com/spillway-go/spillway/throttle/statusz"
)

// Control returns a source that shows a Control: which settings are not those of the code, who has
// set them and why, how many names have such settings, and whether its file is refused.
func Control(c *control.Control) statusz.Source {
	return statusz.SourceFunc(func() statusz.Status {
		stats, status := c.Stats(), c.Status()
		s := statusz.Status{Kind: "control", Name: cmp.Or(status.File.Path, "without a file"), State: "settings of the code"}
		all := 0
		for source, n := range stats.Overrides {
			if source := throttle.Source(source); source != throttle.SourceCode {
				all += n
				s.Figures = append(s.Figures, statusz.Figure{Name: "by " + source.String(), Value: float64(n)})
			}
		}
		var applied, refused uint64
		for _, n := range stats.Tunings {
			applied, refused = applied+n[control.Applied], refused+n[control.Refused]
		}
		s.Figures = append(s.Figures, statusz.Figure{Name: "applied", Value: float64(applied)}, statusz.Figure{Name: "refused", Value: float64(refused)})
		if stats.Version > 0 {
			s.Figures = append(s.Figures, statusz.Figure{Name: "document", Value: float64(stats.Version)})
		}
		if all > 0 {
			s.State, s.Level = overridden(status.Things), statusz.Warn
		}
		if stats.Broken {
			s.State, s.Level = "file refused; "+s.State, statusz.Bad
		}
		return s
	})
}

// overridden returns the settings that are not those of the code: "stock: mode off (ana, INC-7)".
func overridden(things []control.Thing) string {
	var all []string
	for _, thing := range things {
		for _, s := range thing.Settings {
			if s.Source != throttle.SourceCode {
				all = append(all, fmt.Sprintf("%s: %s %s (%s, %s)", thing.Name, s.Name, s.Value, cmp.Or(s.By, s.Source.String()), cmp.Or(s.Reason, "no reason")))
			}
		}
	}
	return strings.Join(all, "; ")
}
