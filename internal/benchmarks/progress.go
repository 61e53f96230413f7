package main

import (
	"fmt"
	"os"
)

// progress shows a text in place of the last one.
type progress func(text string)

// newProgress returns a progress that shows nothing unless f is a terminal.
func newProgress(f *os.File) progress {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return quiet
	}
	return func(text string) { fmt.Fprint(f, "\r\x1b[K"+text) }
}

func quiet(string) {}
