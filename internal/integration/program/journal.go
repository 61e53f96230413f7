package program

import "sync"

// enough is how much of what a program says is kept: its end, where the reasons stand.
const enough = 64 << 10

// A journal is what a program says, on whatever output. Somebody may wait for it to say something.
type journal struct {
	mu   sync.Mutex
	said []byte
	more chan struct{} // closed when something is added, and made anew
}

func newJournal() *journal { return &journal{more: make(chan struct{})} }

// Write adds to the journal. It never fails.
func (j *journal) Write(text []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.said = append(j.said, text...)
	if excess := len(j.said) - enough; excess > 0 {
		j.said = append(j.said[:0], j.said[excess:]...)
	}
	close(j.more)
	j.more = make(chan struct{})
	return len(text), nil
}

// read returns what has been said, and what is closed when there is more of it.
func (j *journal) read() (said string, more <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return string(j.said), j.more
}

// String returns what has been said.
func (j *journal) String() string {
	said, _ := j.read()
	return said
}
