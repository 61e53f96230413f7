package lru

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
)

const hour = time.Hour

// mapOf returns a map whose values are its keys.
func mapOf(limit int, idle time.Duration, keys ...string) *Map[string] {
	m := New[string](limit, idle)
	for _, key := range keys {
		m.Put(key, key)
	}
	return m
}

// TestMap_evicts removes the values that were not used for too long, and the one of the oldest use. Find is no use.
func TestMap_evicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := mapOf(2, hour, "a", "b")
		if value, ok := m.Find("a"); value != "a" || !ok {
			t.Errorf("Find: got %q, %v, want a, true", value, ok)
		}
		time.Sleep(time.Second)
		if removed := m.Put("c", "c"); !slices.Equal(removed, []string{"a"}) {
			t.Errorf("Put: got %q removed, want a", removed)
		}
		time.Sleep(hour)
		if value, ok := m.Use("c"); value != "c" || !ok {
			t.Errorf("Use: got %q, %v, want c, true", value, ok)
		}
		if removed := m.RemoveIdle(); !slices.Equal(removed, []string{"b"}) {
			t.Errorf("RemoveIdle: got %q, want b", removed)
		}
		m.Put("d", "d")
		if got := m.Values(); !slices.Equal(got, []string{"d", "c"}) || m.Len() != 2 {
			t.Errorf("Values: got %q, want d and c", got)
		}
		if _, ok := m.Find("b"); ok || len(m.Clear()) != 2 || m.Len() != 0 {
			t.Error("b is found, or Clear leaves values")
		}
	})
}

// TestMap_stripesShareNoCacheLine checks the addresses of what Get writes, and of what it reads.
func TestMap_stripesShareNoCacheLine(t *testing.T) {
	const line = 64
	m := mapOf(10, hour, "a", "b", "c")
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

// TestMap_parallel gets values while others come and go.
func TestMap_parallel(t *testing.T) {
	const limit = 20
	m := mapOf(limit, hour)
	var mu sync.Mutex
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			dice := rand.New(rand.NewPCG(uint64(g), 2))
			for range 3000 {
				key := fmt.Sprint(dice.IntN(2 * limit))
				if value, ok := m.Get(key); ok {
					if value != key {
						t.Errorf("got value %q of %q", value, key)
					}
					continue
				}
				mu.Lock()
				if _, ok := m.Use(key); !ok {
					m.Put(key, key)
				}
				if n := m.Len(); n > limit {
					t.Errorf("%d values, want at most %d", n, limit)
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
}
