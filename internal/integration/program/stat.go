package program

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// procStats returns the fields pid, state and parent of the files of a pattern, such as /proc/PID/stat. It skips processes that
// have just ended. Without /proc it returns nothing.
func procStats(pattern string) (stats [][]string) {
	fields := regexp.MustCompile(`(?s)^(\d+) \(.*\) (\S) (\d+) `) // the program's name may contain spaces
	files, _ := filepath.Glob(pattern)
	for _, file := range files {
		text, _ := os.ReadFile(file)
		if found := fields.FindStringSubmatch(string(text)); found != nil {
			stats = append(stats, found[1:])
		}
	}
	return stats
}

// children returns the ids of the child processes.
func children(parent int) (pids []int) {
	for _, s := range procStats("/proc/[0-9]*/stat") {
		if pid, err := strconv.Atoi(s[0]); err == nil && s[2] == strconv.Itoa(parent) {
			pids = append(pids, pid)
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
			if s[1] != "T" && s[1] != "Z" {
				return fmt.Sprint(s)
			}
		}
		return ""
	})
}
