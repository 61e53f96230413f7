package throttle

import (
	"maps"
	"slices"
	"testing"
	"unsafe"
)

func groupOf(t *testing.T, keys ...string) *Group {
	t.Helper()
	g, err := NewGroup(func(string) Config { return Config{Name: "hosts"} }, GroupConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		if _, err := g.Get(key); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

// TestGetOfAPresentKeyWritesToOneStripe, and takes no lock: it would wait for ever here.
func TestGetOfAPresentKeyWritesToOneStripe(t *testing.T) {
	g := groupOf(t, "a", "b")
	m, sweepAt := g.table.find("a"), g.sweepAt.Load()
	before, latest := timesOf(&m.used), timesOf(&g.latest)
	g.mu.Lock()
	g.tuning.Lock()
	if th, err := g.Get("a"); th != m.throttle || err != nil {
		t.Errorf("Get: got %v and error %v, want the throttle", th, err)
	}
	if th, ok := g.Lookup("a"); th != m.throttle || !ok {
		t.Errorf("Lookup: got %v and %v, want the throttle", th, ok)
	}
	g.tuning.Unlock()
	g.mu.Unlock()
	written, writtenLatest := changed(before, timesOf(&m.used)), changed(latest, timesOf(&g.latest))
	if len(written) != 1 || !slices.Equal(written, writtenLatest) {
		t.Errorf("stripes written: got %v of the member and %v of the group, want the same one", written, writtenLatest)
	}
	if got := g.sweepAt.Load(); got != sweepAt {
		t.Errorf("sweepAt: got %d want %d as before", got, sweepAt)
	}
}

func timesOf(u *useTimes) (times [groupStripes]int64) {
	for i := range u {
		times[i] = u[i].at.Load()
	}
	return times
}

// changed returns the stripes whose times differ.
func changed(before, after [groupStripes]int64) (stripes []int) {
	for i := range before {
		if before[i] != after[i] {
			stripes = append(stripes, i)
		}
	}
	return stripes
}

// TestStripesShareNoCacheLine checks the addresses of what Get writes, and of what it reads.
func TestStripesShareNoCacheLine(t *testing.T) {
	const line = 64
	g := groupOf(t, "a", "b", "c")
	lines := map[uintptr]string{}
	add := func(name string, first, last unsafe.Pointer) {
		for at := uintptr(first) / line; at <= uintptr(last)/line; at++ {
			if other, taken := lines[at]; taken {
				t.Errorf("%s is on the same cache line as %s", name, other)
			}
			lines[at] = name
		}
	}
	add("what Get reads of the group", unsafe.Pointer(&g.config), unsafe.Pointer(&g.sweepAt))
	add("what is locked", unsafe.Pointer(&g.tuning), unsafe.Pointer(&g.queue))
	for i := range g.latest {
		add("latest", unsafe.Pointer(&g.latest[i].at), unsafe.Pointer(&g.latest[i].at))
	}
	for _, m := range g.queue {
		add("what Get reads of "+m.key, unsafe.Pointer(&m.key), unsafe.Pointer(&m.recorded))
		for i := range m.used {
			add("used of "+m.key, unsafe.Pointer(&m.used[i].at), unsafe.Pointer(&m.used[i].at))
		}
	}
	if got, want := len(slices.Collect(maps.Keys(lines))), 2+groupStripes+3*(1+groupStripes); got < want {
		t.Errorf("cache lines: got %d want at least %d", got, want)
	}
}
