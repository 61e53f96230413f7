package main

import (
	"fmt"
	"sync"
)

// mostTold is how many incidents of one kind are told of one by one.
const mostTold = 5

// incidents are things that went wrong. Many may note them at once.
type incidents struct {
	mu    sync.Mutex
	told  []string // the first few
	count int
}

// note notes an incident, if there is one.
func (in *incidents) note(what string, err error) {
	if err == nil {
		return
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.count++; in.count <= mostTold {
		in.told = append(in.told, fmt.Sprintf("%s: %v", what, err))
	}
}

// list returns what to tell.
func (in *incidents) list() []string {
	in.mu.Lock()
	defer in.mu.Unlock()
	return withRest(in.told, in.count)
}

// withRest adds how many there were beside those that are told of.
func withRest(told []string, count int) []string {
	list := append([]string(nil), told...)
	if rest := count - len(told); rest > 0 {
		list = append(list, fmt.Sprintf("and %d more of that", rest))
	}
	return list
}
