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

// TestMap_agreesWithAList compares a map with a list of keys in the order of their use. The clock
// moves at each step. If it did not, a stack that grows would change the stripe and so the order.
func TestMap_agreesWithAList(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			dice := rand.New(rand.NewPCG(seed, 1))
			limit := 1 + dice.IntN(8)
			m := mapOf(limit, hour)
			var list []string // the last used first
			used := map[string]time.Time{}
			for range 3000 {
				key := fmt.Sprint(dice.IntN(12))
				time.Sleep(time.Nanosecond)
				if dice.IntN(3) == 0 {
					time.Sleep(time.Duration(dice.Int64N(int64(hour / 5))))
				}
				var removed []string
				value, ok := m.Get(key)
				if !ok {
					removed = m.RemoveIdle()
					if value, ok = m.Use(key); !ok {
						removed = append(removed, m.Put(key, key)...)
						value = key
					}
				}
				if value != key {
					t.Fatalf("seed %d: got value %q of %q", seed, value, key)
				}
				var gone []string
				for len(list) > 0 && time.Since(used[list[len(list)-1]]) > hour {
					gone, list = append(gone, list[len(list)-1]), list[:len(list)-1]
				}
				list = slices.DeleteFunc(list, func(k string) bool { return k == key })
				list = slices.Insert(list, 0, key)
				if len(list) > limit {
					gone, list = append(gone, list[limit]), list[:limit]
				}
				used[key] = time.Now()
				if !slices.Equal(removed, gone) {
					t.Fatalf("seed %d: got %q removed, want %q", seed, removed, gone)
				}
				if got := m.Values(); !slices.Equal(got, list) || m.Len() != len(list) {
					t.Fatalf("seed %d: got values %q, want %q", seed, got, list)
				}
			}
			if got := m.Clear(); len(got) != len(list) || m.Len() != 0 {
				t.Errorf("seed %d: Clear returned %q, want %d values", seed, got, len(list))
			}
			if _, ok := m.Find("1"); ok {
				t.Errorf("seed %d: found a value after Clear", seed)
			}
		})
	}
}

// TestMap_findIsNoUse finds the oldest value before one must go.
func TestMap_findIsNoUse(t *testing.T) {
	m := mapOf(2, hour, "a", "b")
	if value, ok := m.Find("a"); value != "a" || !ok {
		t.Errorf("Find: got %q, %v, want a, true", value, ok)
	}
	if removed := m.Put("c", "c"); !slices.Equal(removed, []string{"a"}) {
		t.Errorf("removed: got %q, want a", removed)
	}
}

// TestMap_getWritesToOneStripe compares all times before and after a Get.
func TestMap_getWritesToOneStripe(t *testing.T) {
	m := mapOf(10, hour, "a", "b")
	e, idleAt := m.table.find("a"), m.idleAt.Load()
	before, latest := timesOf(&e.used), timesOf(&m.latest)
	if value, ok := m.Get("a"); value != "a" || !ok {
		t.Errorf("Get: got %q, %v, want a, true", value, ok)
	}
	written, writtenLatest := changed(before, timesOf(&e.used)), changed(latest, timesOf(&m.latest))
	if len(written) != 1 || !slices.Equal(written, writtenLatest) {
		t.Errorf("stripes written: got %v of the entry and %v of the map, want the same one", written, writtenLatest)
	}
	if got := m.idleAt.Load(); got != idleAt {
		t.Errorf("idleAt: got %d want %d as before", got, idleAt)
	}
}

func timesOf(u *useTimes) (times [stripes]int64) {
	for i := range u {
		times[i] = u[i].at.Load()
	}
	return times
}

// changed returns the stripes whose times differ.
func changed(before, after [stripes]int64) (written []int) {
	for i := range before {
		if before[i] != after[i] {
			written = append(written, i)
		}
	}
	return written
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
