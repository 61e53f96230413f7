package lru

import (
	"testing"
	"time"
	"unsafe"
)

// TestMap_stripesShareNoCacheLine checks the addresses of what Get writes, and of what it reads.
func TestMap_stripesShareNoCacheLine(t *testing.T) {
	const line = 64
	m := New[string](10, time.Hour)
	for _, key := range []string{"a", "b", "c"} {
		m.Put(key, key)
	}
	lines := map[uintptr]string{}
	add := func(name string, first, last unsafe.Pointer) {
		for at := uintptr(first) / line; at <= uintptr(last)/line; at++ {
			if other, taken := lines[at]; taken {
				t.Errorf("%s is on the same cache line as %s", name, other)
			}
			lines[at] = name
		}
	}
	add("what Get reads of the map", unsafe.Pointer(&m.max), unsafe.Pointer(&m.idleAt))
	add("what is locked", unsafe.Pointer(&m.queue), unsafe.Pointer(&m.queue))
	for i := range m.latest {
		add("latest", unsafe.Pointer(&m.latest[i].at), unsafe.Pointer(&m.latest[i].at))
	}
	for _, e := range m.queue {
		add("what Get reads of "+e.key, unsafe.Pointer(&e.key), unsafe.Pointer(&e.recorded))
		for i := range e.used {
			add("used of "+e.key, unsafe.Pointer(&e.used[i].at), unsafe.Pointer(&e.used[i].at))
		}
	}
	if want := 2 + stripes + 3*(1+stripes); len(lines) < want {
		t.Errorf("cache lines: got %d want at least %d", len(lines), want)
	}
}
