package program

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// procStat is what /proc says of a process or a thread.
type procStat struct {
	pid, parent int
	state       string
}

// procStats returns what the files say that match a pattern. Who has just ended is left out; where there is no /proc, so is everybody.
func procStats(pattern string) []procStat {
	var stats []procStat
	files, _ := filepath.Glob(pattern)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		var s procStat
		after := strings.LastIndex(string(text), ")") // of the program's name, which may hold anything
		if _, err := fmt.Sscan(string(text), &s.pid); err != nil {
			continue
		}
		if _, err := fmt.Sscan(string(text[after+1:]), &s.state, &s.parent); err == nil {
			stats = append(stats, s)
		}
	}
	return stats
}

// children returns the processes that a process has started.
func children(parent int) []int {
	var pids []int
	for _, s := range procStats("/proc/[0-9]*/stat") {
		if s.parent == parent {
			pids = append(pids, s.pid)
		}
	}
	return pids
}

// awaitStop waits until all threads of a process stand still. A signal to stop says so only to one of them, which tells the others when it gets
// its turn.
func awaitStop(t testing.TB, pid int) {
	t.Helper()
	Eventually(t, "the process stands still", func() string {
		for _, s := range procStats(fmt.Sprintf("/proc/%d/task/*/stat", pid)) {
			if s.state != "T" && s.state != "Z" {
				return fmt.Sprintf("%+v", s)
			}
		}
		return ""
	})
}
