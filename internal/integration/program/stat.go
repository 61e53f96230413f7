package program

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// procStat holds fields of /proc/PID/stat of a process or thread.
type procStat struct {
	pid, parent int
	state       string
}

// procStats reads the files that match a pattern. It skips processes that have just ended. Without
// /proc it returns nothing.
func procStats(pattern string) []procStat {
	var stats []procStat
	files, _ := filepath.Glob(pattern)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		var s procStat
		after := strings.LastIndex(string(text), ")") // of the program's name, which may contain spaces
		if _, err := fmt.Sscan(string(text), &s.pid); err != nil {
			continue
		}
		if _, err := fmt.Sscan(string(text[after+1:]), &s.state, &s.parent); err == nil {
			stats = append(stats, s)
		}
	}
	return stats
}

// children returns the ids of the child processes.
func children(parent int) []int {
	var pids []int
	for _, s := range procStats("/proc/[0-9]*/stat") {
		if s.parent == parent {
			pids = append(pids, s.pid)
		}
	}
	return pids
}

// awaitStop waits until all threads of a process have stopped. SIGSTOP reaches one thread first; the
// others stop later.
func awaitStop(t testing.TB, pid int) {
	t.Helper()
	Eventually(t, "the process has stopped", func() string {
		for _, s := range procStats(fmt.Sprintf("/proc/%d/task/*/stat", pid)) {
			if s.state != "T" && s.state != "Z" {
				return fmt.Sprintf("%+v", s)
			}
		}
		return ""
	})
}
