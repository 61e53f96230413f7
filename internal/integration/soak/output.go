package main

import (
	"bytes"
	"strings"
	"sync"
)

// What is kept of what a child writes: where it begins, which tells the address, and what an alarm says.
const (
	linesKept    = 40
	linesOfAlarm = 60
	mostAlarms   = 3
)

// output is what a child writes on whatever output. It is read line by line and thrown away, because there is no end of it.
type output struct {
	mu     sync.Mutex
	rest   []byte // a line that is not complete
	first  []string
	last   []string
	alarms []string // the first few, as far as they go
	alarm  int      // lines that still belong to the last one
	alarmN int
	turns  int      // of a story that is repeated
	broken []string // promises, as they are told
	late   int      // promises, on a busy machine
}

// Write reads more. It never fails.
func (o *output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.rest = append(o.rest, text...)
	for {
		end := bytes.IndexByte(o.rest, '\n')
		if end < 0 {
			return len(text), nil
		}
		o.line(string(o.rest[:end]))
		o.rest = o.rest[end+1:]
	}
}

// line reads one line.
func (o *output) line(line string) {
	if len(o.first) < linesKept {
		o.first = append(o.first, line)
	}
	if o.last = append(o.last, line); len(o.last) > linesKept {
		o.last = o.last[1:]
	}
	switch {
	case isAlarm(line):
		if o.alarmN++; o.alarmN <= mostAlarms {
			o.alarms = append(o.alarms, line)
			o.alarm = linesOfAlarm
		}
	case o.alarm > 0:
		o.alarms[len(o.alarms)-1] += "\n" + line
		o.alarm--
	}
	words := strings.TrimRight(line, " ")
	switch {
	case words == "Once more":
		o.turns++
	case strings.HasSuffix(words, " BROKEN"):
		o.broken = append(o.broken, strings.TrimSpace(words))
	case strings.HasSuffix(words, " late"):
		o.late++
	}
}

// isAlarm reports whether a line says that a program is wrong, whatever else it does.
func isAlarm(line string) bool {
	return strings.Contains(line, "DATA RACE") || strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") ||
		strings.Contains(line, "http: panic serving")
}

// beginning returns the first lines.
func (o *output) beginning() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Join(o.first, "\n")
}

// report is what there is to tell of an output.
type report struct {
	alarms, broken []string
	turns, late    int
	end            string
}

func (o *output) report() report {
	o.mu.Lock()
	defer o.mu.Unlock()
	return report{
		alarms: withRest(o.alarms, o.alarmN), broken: append([]string(nil), o.broken...), turns: o.turns, late: o.late,
		end: strings.Join(o.last, "\n"),
	}
}
