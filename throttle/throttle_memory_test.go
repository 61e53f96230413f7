package throttle

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/spillway-go/spillway/throttle/internal/window"
)

const cacheLine = 64

// memory is the memory that calls on a throttle use.
type memory struct {
	shared  [][]byte   // of all processors
	stripes [][][]byte // of each stripe
}

func memoryOf(t *Throttle) memory {
	m := memory{shared: [][]byte{bytesAt(unsafe.Pointer(t), unsafe.Sizeof(*t)), bytesAt(unsafe.Pointer(t.window), unsafe.Sizeof(*t.window))}}
	events := reflect.ValueOf(&t.decisions).Elem().FieldByName("stripes")
	size := events.Type().Elem().Size()
	for i := range t.window.Stripes() {
		stripe := [][]byte{
			bytesAt(unsafe.Pointer(t.window.Row(i, 0)), uintptr(t.priorities)*unsafe.Sizeof(window.Row{})),
			bytesAt(unsafe.Pointer(&t.counters[i]), unsafe.Sizeof(t.counters[i])),
			bytesAt(unsafe.Add(events.UnsafePointer(), uintptr(i)*size), size),
		}
		for j := range t.counters[i].tables {
			if table := t.counters[i].tables[j].Load(); table != nil {
				stripe = append(stripe, bytesAt(unsafe.Pointer(&(*table)[0]), uintptr(len(*table))*unsafe.Sizeof((*table)[0])))
			}
		}
		if answered := t.counters[i].inFlight.Load(); answered != nil {
			stripe = append(stripe, bytesAt(unsafe.Pointer(&(*answered)[0]), uintptr(len(*answered))*unsafe.Sizeof((*answered)[0])))
		}
		m.stripes = append(m.stripes, stripe)
	}
	return m
}

func bytesAt(p unsafe.Pointer, size uintptr) []byte { return unsafe.Slice((*byte)(p), size) }

func clones(parts [][]byte) [][]byte {
	var copies [][]byte
	for _, part := range parts {
		copies = append(copies, slices.Clone(part))
	}
	return copies
}

func same(a, b [][]byte) bool { return slices.EqualFunc(a, b, bytes.Equal) }

// TestThrottle_memory checks which memory calls write. Every kind of call writes to one stripe, and
// to shared memory once in 128 calls at most. Otherwise processors would wait for each other.
func TestThrottle_memory(t *testing.T) {
	notFound := errors.New("not found")
	for name, c := range map[string]struct {
		draw     float64 // 0 sheds if the probability is more than 0
		rejected int     // of all calls in the window, in percent
		err      error   // of the function
		shared   bool    // some of the calls change shared memory
	}{
		"healthy":             {draw: 1},
		"not found":           {draw: 1, err: notFound},
		"rejected":            {draw: 1, rejected: 1, err: context.DeadlineExceeded}, // a refresh changes nothing
		"probability above 0": {draw: 1, rejected: 60, shared: true},
		"shed":                {draw: 0, rejected: 60, shared: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // the clock does not move: no bucket ends
				const calls = 1000
				th := Must(New(Config{Name: "memory", Policy: SRE, Rand: func() float64 { return c.draw }}))
				th.window.Row(0, 0)[served].Add(uint64(100-c.rejected) * 10_000)
				th.window.Row(0, 0)[turnedDown].Add(uint64(c.rejected) * 10_000)
				if c.rejected > 0 {
					th.decisions.NoteRefused()
				}
				call := func() { _ = th.Do(t.Context(), High, func(context.Context) error { return c.err }) }
				call() // allocates the table of outcomes
				time.Sleep(th.window.Width())
				call() // refreshes the decisions

				m, shared := memoryOf(th), 0
				for range calls {
					before := clones(m.shared)
					stripes := make([][][]byte, len(m.stripes))
					for i := range m.stripes {
						stripes[i] = clones(m.stripes[i])
					}
					call()
					if !same(before, m.shared) {
						shared++
					}
					written := 0
					for i := range m.stripes {
						if !same(stripes[i], m.stripes[i]) {
							written++
						}
					}
					if written != 1 {
						t.Fatalf("a call wrote to %d stripes, want 1", written)
					}
				}
				if most := calls/128 + 1; shared > most || c.shared != (shared > 0) {
					t.Errorf("%d of %d calls wrote to shared memory, want at most %d", shared, calls, most)
				}
			})
		})
	}
}

// TestThrottle_stripesDoNotShareCacheLines checks the addresses of the stripes.
func TestThrottle_stripesDoNotShareCacheLines(t *testing.T) {
	for priorities := 1; priorities <= MaxPriorities; priorities++ {
		owner, th := map[uintptr]int{}, Must(New(Config{Name: "memory", Policy: SRE, Priorities: priorities}))
		for i := range th.counters {
			th.counters[i].count(failures, priorities, High, Rejected, FaultTimeout)
			th.counters[i].answeredCalls(priorities, High)
		}
		for i, parts := range memoryOf(th).stripes {
			for _, part := range parts {
				begin := uintptr(unsafe.Pointer(&part[0]))
				for line := begin / cacheLine; line <= (begin+uintptr(len(part))-1)/cacheLine; line++ {
					if other, taken := owner[line]; taken && other != i {
						t.Fatalf("%d priorities: stripes %d and %d share a cache line", priorities, other, i)
					}
					owner[line] = i
				}
			}
		}
	}
}
