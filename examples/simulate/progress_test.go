package main

import (
	"bytes"
	"os"
	"testing"
)

func TestProgress(t *testing.T) {
	var terminal bytes.Buffer
	p := &progress{terminal: &terminal, runs: 4}
	p.add(0)
	p.add(1)
	p.clear()
	if got, want := terminal.String(), "\r\x1b[K0 of 4 runs\r\x1b[K1 of 4 runs\r\x1b[K"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestNoProgressOnFile(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	p := newProgress(file, settings{})
	if p != nil {
		t.Fatal("got a progress on a file, want none")
	}
	p.add(1) // a nil progress does nothing
	p.clear()
}
