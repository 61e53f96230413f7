package main

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of processor times in /proc.
const tick = time.Second / 100

// strangers measures how much of some processors goes to processes that do not belong to the benchmark, and
// to other virtual machines.
type strangers struct {
	processors []string
	ours       []int // process ids
	start      time.Time
	before     time.Duration
}

// watchStrangers starts to measure. The processors are a list for taskset.
func watchStrangers(processors string, ours ...int) *strangers {
	w := &strangers{processors: strings.Split(processors, ","), ours: ours, start: time.Now()}
	w.before = w.used()
	return w
}

// share returns the percentage of the time of the processors since the start, or NaN where /proc is missing.
func (w *strangers) share() float64 {
	used := w.used()
	if used == 0 {
		return math.NaN()
	}
	whole := time.Since(w.start) * time.Duration(len(w.processors))
	return max(0, 100*float64(used-w.before)/float64(whole))
}

// used returns the busy time of the processors without that of our processes.
func (w *strangers) used() (sum time.Duration) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	for _, number := range w.processors {
		for line := range strings.Lines(string(text)) {
			if fields := strings.Fields(line); fields[0] == "cpu"+number && len(fields) > 8 {
				sum += ticks(fields[1:4]...) + ticks(fields[6:9]...) // without idle and iowait
			}
		}
	}
	for _, id := range w.ours {
		sum -= processTime(id)
	}
	return sum
}

func processTime(id int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name of the command may have spaces
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	return ticks(fields[11:13]...)
}

// ticks adds up figures of /proc.
func ticks(figures ...string) (sum time.Duration) {
	for _, f := range figures {
		n, _ := strconv.ParseInt(f, 10, 64) // the kernel writes only digits
		sum += time.Duration(n) * tick
	}
	return sum
}
