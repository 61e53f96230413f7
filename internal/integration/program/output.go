package program

import "sync"

// maxOutput is how much output is kept, in bytes. If there is more, the end is kept.
const maxOutput = 64 << 10

// An output collects what a program writes to standard output and standard error.
type output struct {
	mu   sync.Mutex
	text []byte
}

// Write appends text. It never fails.
func (o *output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text = append(o.text, text...)
	if excess := len(o.text) - maxOutput; excess > 0 {
		o.text = append(o.text[:0], o.text[excess:]...)
	}
	return len(text), nil
}

// String returns the output so far.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.text)
}
