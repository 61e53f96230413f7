package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
)

// bench runs rows and remembers the capacity of each shape.
type bench struct {
	perMillisecond float64 // see burner
	seed           uint64
	environment    []string // of servers
	cgroup         string   // that they join, or ""
	capacities     map[shape]float64
	notes          io.Writer // one line for each capacity
}

// loadProcessor is where the load runs, unless the server needs both processors.
const loadProcessor = "1"

// stage is a running server with what else uses its processors, and a caller of it.
type stage struct {
	server, neighbour *child
	strangers         *strangers
	call              caller
	close             func()
}

func (b *bench) open(subject string, s shape, throttles int, listens bool) (*stage, error) {
	load := loadProcessor
	if s.Procs > 1 {
		load = s.processors()
	}
	if err := pin(load); err != nil {
		return nil, err
	}
	spec := serverSpec{Subject: subject, Shape: s, PerMillisecond: b.perMillisecond, Share: float64(s.Procs) / float64(runtime.NumCPU()), Cgroup: b.cgroup}
	server, err := startChild(roleServer, s.processors(), spec, b.environment...)
	if err != nil {
		return nil, err
	}
	st := &stage{server: server}
	if s.Neighbour {
		if st.neighbour, err = startChild(roleNeighbour, s.processors(), nil); err != nil {
			st.end()
			return nil, err
		}
	}
	if st.call, st.close, err = newCaller(s, server.address, throttles, listens); err != nil {
		st.end()
		return nil, err
	}
	st.strangers = watchStrangers(s.processors(), st.processes(load)...)
	return st, nil
}

// processes returns the processes that may use the processors of the server.
func (st *stage) processes(load string) []int {
	ids := []int{st.server.command.Process.Pid}
	if st.neighbour != nil {
		ids = append(ids, st.neighbour.command.Process.Pid)
	}
	if load != loadProcessor {
		ids = append(ids, os.Getpid())
	}
	return ids
}

// end stops the processes and returns what the server wrote to stderr.
func (st *stage) end() string {
	log := st.server.stop()
	if st.neighbour != nil {
		st.neighbour.stop()
	}
	if st.close != nil {
		st.close()
	}
	return log
}

// capacity returns how many requests per second the unprotected server answers, when a few workers keep
// it busy. It measures each shape once.
func (b *bench) capacity(s shape) (float64, error) {
	if c, ok := b.capacities[s]; ok {
		return c, nil
	}
	st, err := b.open(subjectNone, s, 0, false)
	if err != nil {
		return 0, err
	}
	defer st.end()
	workers, length := s.calibration()
	c := saturate(st.call, workers, length)
	strange := st.strangers.share()
	if c == 0 {
		return 0, fmt.Errorf("the server answers nothing; it wrote: %s", st.end())
	}
	b.capacities[s] = c
	note := fmt.Sprintf("capacity %.1f/s: %s", c, s)
	if strange > mostStrange {
		note += "; " + strangersWarning(strange)
	}
	fmt.Fprintln(b.notes, note)
	return c, nil
}

func (b *bench) run(r row, subject string) (*run, error) {
	all, err := b.capacity(r.shape.alone())
	if err != nil {
		return nil, err
	}
	remaining := all
	if !r.rateOfAll || !r.goodOfAll {
		if remaining, err = b.capacity(r.shape); err != nil {
			return nil, err
		}
	}
	base, share := remaining, remaining
	if r.rateOfAll {
		base = all
	}
	if r.goodOfAll {
		share = all
	}
	arrivals := schedule(b.seed, r.load(base))
	if r.tenants {
		crowd(b.seed, arrivals, r.highShare)
	}
	st, err := b.open(subject, r.shape, r.clients, r.listens)
	if err != nil {
		return nil, err
	}
	records := offer(st.call, arrivals)
	strange := st.strangers.share()
	return &run{row: r, subject: subject, records: records, capacity: share, strangers: strange, log: st.end()}, nil
}
