package control

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// Status is what is in force, and why. An instance that refused a line, as Hooks.Failed reported, has
// nothing of that line.
type Status struct {
	File   FileStatus `json:"file"`
	Things []Thing    `json:"things"`
}

// FileStatus is the state of the document that is watched.
type FileStatus struct {
	Path string `json:"path,omitempty"` // or the name that WatchFunc was given
	// Version is a number made of the content of the document that was last applied, the same in all processes that have
	// applied it, or 0.
	Version uint32 `json:"version,omitempty"`
	// Error is why the file is refused, or empty. What was in force before stays then.
	Error string `json:"error,omitempty"`
	// Since is when the file was first refused for this reason, or when it was last applied.
	Since time.Time `json:"since,omitzero"`
}

// Thing is a throttle, breaker, bucket, backoff or retrier, or all those of one name.
type Thing struct {
	Kind      string    `json:"kind"`
	Name      string    `json:"name"`
	Instances int       `json:"instances"` // 0: a line has an optional name that nothing has yet
	Settings  []Setting `json:"settings"`
}

// Setting is one setting of a thing. If instances differ, it is that of the oldest. A value of 0 or 0s
// means the default where that of the Config does.
type Setting struct {
	Name   string          `json:"name"`
	Value  string          `json:"value"`          // in force
	Code   string          `json:"code,omitempty"` // without any document
	Source throttle.Source `json:"source"`         // of the value in force
	By     string          `json:"by,omitempty"`
	Reason string          `json:"reason,omitempty"`
	Until  time.Time       `json:"until,omitzero"`
}

// Status returns what is in force, and where each value comes from.
func (c *Control) Status() Status {
	if !c.valid() {
		return Status{}
	}
	s := Status{File: c.fileStatus(), Things: []Thing{}}
	now := c.now.Load()
	for _, k := range c.families {
		s.Things = append(s.Things, k.things(now)...)
	}
	return s
}

func (c *Control) fileStatus() FileStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.file
}

// Stats are the counters of a [Control], and its present state.
type Stats struct {
	Tunings    [throttle.NumSources][NumResults]uint64 // lines that were applied and ended, and documents that were refused
	Overrides  [throttle.NumSources]int                // lines in force
	Watching   bool                                    // a file is watched
	Broken     bool                                    // and it is refused
	Version    uint32                                  // of the document that is watched: see FileStatus
	HookPanics uint64                                  // panics of hooks
	Last       []LastChange                            // of each name that is known, sorted by kind and name
}

// LastChange is when a line of a name last began, changed or ended: see [Terms].Changed.
type LastChange struct {
	Kind, Name string
	Source     throttle.Source // of that line
	At         time.Time
}

// Stats returns the counters and the present state.
func (c *Control) Stats() (s Stats) {
	if !c.valid() {
		return s
	}
	for source := range c.tunings {
		for result := range c.tunings[source] {
			s.Tunings[source][result] = c.tunings[source][result].Load()
		}
	}
	now, file := c.now.Load(), c.fileStatus()
	for i := range now.layers {
		s.Overrides[i] = now.layers[i].len()
	}
	s.HookPanics, s.Last = c.panics.Load(), c.lastChanges()
	s.Watching, s.Broken, s.Version = file.Path != "", file.Error != "", file.Version
	return s
}

func (c *Control) lastChanges() []LastChange {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.SortedFunc(maps.Values(c.last), func(a, b LastChange) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
}
