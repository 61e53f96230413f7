package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// The roles of child processes.
const (
	roleServer    = "server"
	roleNeighbour = "neighbour"
)

// priorityHeader carries the priority of a request. It is not Spillway's own header, which a server
// believes only from senders that it trusts.
const priorityHeader = "Benchmark-Priority"

type serverSpec struct {
	Subject        string
	Shape          shape
	PerMillisecond float64 // see burner
	Share          float64 // of the processors of the machine
	Cgroup         string  // the folder of one that the server joins, or ""
}

type worker struct {
	shape  shape
	burner burner
	heap   []*[64]*byte
	slots  chan struct{} // nil without Slots
	began  time.Time
}

func newWorker(s shape, perMillisecond float64) *worker {
	w := &worker{shape: s, burner: burner{perMillisecond: perMillisecond}, began: time.Now()}
	if s.Slots > 0 {
		w.slots = make(chan struct{}, s.Slots)
	}
	w.fill()
	return w
}

// wait does what uses no processor: it waits for a slot, and keeps it for a time. It returns false if the caller has left.
func (w *worker) wait(ctx context.Context) bool {
	if w.slots != nil {
		select {
		case w.slots <- struct{}{}:
			defer func() { <-w.slots }()
		case <-ctx.Done():
			return false
		}
	}
	waits := w.shape.Waits
	if w.shape.Slowdown > 0 && time.Since(w.began) > w.shape.Slowdown {
		waits *= 10
	}
	time.Sleep(waits)
	return true
}

func (w *worker) do(p throttle.Priority) {
	if w.shape.LowWaits > 0 && p == throttle.Low {
		time.Sleep(w.shape.LowWaits)
		return
	}
	var block []byte
	if w.shape.Allocates > 0 {
		block = make([]byte, w.shape.Allocates)
	}
	w.burner.burn(w.shape.Work)
	runtime.KeepAlive(block)
}

// fill builds the heap that lives as long as the process. It has pointers, which the garbage collector
// follows in each of its cycles.
func (w *worker) fill() {
	w.heap = make([]*[64]*byte, w.shape.Heap/512)
	for i := range w.heap {
		w.heap[i] = new([64]*byte)
	}
}

func serve(spec serverSpec) error {
	if spec.Cgroup != "" {
		if err := os.WriteFile(filepath.Join(spec.Cgroup, "cgroup.procs"), []byte("0"), 0); err != nil { // 0 is this process
			return fmt.Errorf("-server-cgroup: %w", err)
		}
	}
	runtime.GOMAXPROCS(spec.Shape.Procs)
	w := newWorker(spec.Shape, spec.PerMillisecond)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	serveOn, err := service(spec, w)
	if err != nil {
		return err
	}
	for range spec.Shape.Background * spec.Shape.Procs {
		go w.burner.burnForever()
	}
	fmt.Fprintln(os.Stdout, listener.Addr())
	return serveOn(listener)
}

// service returns the function that serves the protocol of the shape behind the subject.
func service(spec serverSpec, w *worker) (func(net.Listener) error, error) {
	switch spec.Shape.Protocol {
	case protocolHTTP, protocolHTTP2:
		handler, err := guardHTTP(spec, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if !w.wait(r.Context()) {
				return
			}
			w.do(priorityOf(r))
			fmt.Fprintln(rw, "done")
		}))
		return httpServer(handler).Serve, err
	case protocolGRPC:
		return serveGRPC(spec.Subject, w)
	case protocolConnect:
		return serveConnect(spec.Subject, w)
	}
	return nil, fmt.Errorf("no protocol %q", spec.Shape.Protocol)
}

// httpServer speaks HTTP/1.1 and HTTP/2, both without TLS.
func httpServer(handler http.Handler) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{Handler: handler, Protocols: protocols, ReadHeaderTimeout: time.Minute}
}

func priorityOf(r *http.Request) throttle.Priority {
	return parsePriority(r.Header.Get(priorityHeader))
}

func parsePriority(word string) throttle.Priority {
	p, err := throttle.ParsePriority(word)
	if err != nil {
		return throttle.Low
	}
	return p
}

// burner uses up processor time with a loop that neither blocks nor allocates.
type burner struct {
	perMillisecond float64 // rounds of the loop
	sink           atomic.Uint64
}

// calibrate returns how many rounds a millisecond of processor time has. It reads the processor time
// of this process, so neighbours on the same processor do not matter.
func calibrate() float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const rounds = 2_000_000
	var b burner
	best := 0.0
	for range 15 {
		before := processorTime()
		b.spin(rounds)
		if took := processorTime() - before; took > 0 {
			best = max(best, rounds/(took.Seconds()*1e3))
		}
	}
	return best
}

func (b *burner) burn(d time.Duration) { b.spin(int(b.perMillisecond * d.Seconds() * 1e3)) }

func (b *burner) burnForever() {
	for {
		b.spin(1 << 20)
	}
}

func (b *burner) spin(rounds int) {
	x := uint64(rounds) | 1
	for range rounds {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	b.sink.Store(x)
}

// processorTime returns the processor time of this process so far, in user mode and in the kernel.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
