package main

import (
	"bytes"
	"testing"
)

func TestProgress(t *testing.T) {
	var terminal bytes.Buffer
	p := &progress{terminal: &terminal, runs: 4}
	p.add(0)
	p.add(1)
	p.clear()
	equals(t, terminal.String(), "\r\x1b[K0 of 4 runs\r\x1b[K1 of 4 runs\r\x1b[K", "the terminal")
}
