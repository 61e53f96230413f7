package program

import "sync"

// maxOutput is how much output is kept, in bytes. If there is more, the end is kept.
const maxOutput = 64 << 10

// An output collects what a program writes to standard output and standard error.
type output struct {
	mu      sync.Mutex
	text    []byte
	changed chan struct{} // closed and replaced on each write
}

func newOutput() *output { return &output{changed: make(chan struct{})} }

// Write appends text. It never fails.
func (o *output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text = append(o.text, text...)
	if excess := len(o.text) - maxOutput; excess > 0 {
		o.text = append(o.text[:0], o.text[excess:]...)
	}
	close(o.changed)
	o.changed = make(chan struct{})
	return len(text), nil
}

// read returns the output so far, and a channel that is closed on the next write.
func (o *output) read() (text string, changed <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.text), o.changed
}

// String returns the output so far.
func (o *output) String() string {
	text, _ := o.read()
	return text
}
