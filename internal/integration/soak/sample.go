package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// sample is what a child needed at one moment.
type sample struct {
	at         time.Duration // since the soak began
	rss, fds   float64       // as the system says
	heap       float64       // as its own /metrics say, like all that follows
	sys        float64       // what the Go runtime has of the system
	goroutines float64
	series     float64
	calls      float64
}

// sampleOf puts together what the system says of a process, and what it has told last.
func sampleOf(pid int, e exposition) (sample, error) {
	rss, err := residentOf(pid)
	fds, missing := descriptorsOf(pid)
	heap, hasHeap := e.gauges["go_memstats_heap_inuse_bytes"]
	sys, hasSys := e.gauges["go_memstats_sys_bytes"]
	goroutines, hasGoroutines := e.gauges["go_goroutines"]
	if !hasHeap || !hasSys || !hasGoroutines {
		missing = errors.Join(missing, errors.New("/metrics has no go_memstats_heap_inuse_bytes, no go_memstats_sys_bytes or no go_goroutines"))
	}
	return sample{
		rss: rss, fds: fds, heap: heap, sys: sys, goroutines: goroutines, series: float64(e.series), calls: callsOf(e),
	}, errors.Join(err, missing)
}

// callsOf adds up the calls of all systems, however they ended.
func callsOf(e exposition) float64 {
	return e.total("throttle_calls_total", "") + e.total("throttle_breaker_calls_total", "") + e.total("throttle_backoff_calls_total", "")
}

// residentOf returns how much memory a process has.
func residentOf(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	return parseResident(string(text), os.Getpagesize())
}

// parseResident reads what Linux says of a process's memory: the second number is the pages that it has.
func parseResident(statm string, page int) (float64, error) {
	fields := strings.Fields(statm)
	if len(fields) < 2 {
		return 0, fmt.Errorf("statm is %q: want two numbers at least", statm)
	}
	pages, err := strconv.ParseUint(fields[1], 10, 64)
	return float64(pages) * float64(page), err
}

// descriptorsOf returns how many files and connections a process has open.
func descriptorsOf(pid int) (float64, error) {
	entries, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "fd"))
	return float64(len(entries)), err
}
