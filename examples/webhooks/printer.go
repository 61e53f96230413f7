package main

import (
	"fmt"
	"io"
	"time"
)

// printer writes the story. It keeps the first error, so that not everybody has to.
type printer struct {
	to    io.Writer
	begun time.Time
	err   error
}

// act writes the heading of an act.
func (p *printer) act(format string, args ...any) {
	p.printf("\n%s\n", fmt.Sprintf(format, args...))
}

// line writes what has happened, and when.
func (p *printer) line(format string, args ...any) {
	p.printf("%6.1f s  %s\n", time.Since(p.begun).Seconds(), fmt.Sprintf(format, args...))
}

func (p *printer) printf(format string, args ...any) {
	if _, err := fmt.Fprintf(p.to, format, args...); err != nil && p.err == nil {
		p.err = err
	}
}

// span writes a duration with as many digits as anybody wants.
func span(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= 10*time.Millisecond:
		return d.Round(time.Millisecond).String()
	default:
		return d.Round(100 * time.Microsecond).String()
	}
}

// Write writes a part of a table.
func (p *printer) Write(text []byte) (int, error) {
	p.printf("%s", text)
	return len(text), nil
}
