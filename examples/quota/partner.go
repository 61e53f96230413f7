package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/spillway-go/spillway/examples/internal/program"
	"github.com/spillway-go/spillway/throttle/bucket"
)

// processHeader says which process calls. A real partner would not know.
const processHeader = "Quota-Process"

// answersWithin is how long the partner takes for an answer that is no refusal.
const answersWithin = 5 * time.Millisecond

// graceOfAnswers is how long answers that are under way may take at the end.
const graceOfAnswers = time.Second

// partner is whose API is called: it allows a quota of calls per second, and answers 429 to those that are more. It has a second's calls in
// reserve.
type partner struct {
	store  *bucket.MemoryStore
	server *http.Server
	served chan error
	url    string

	mu    sync.Mutex
	calls map[string]calls // by process
}

// calls are how many a process has made.
type calls struct{ made, refused int }

func (c calls) plus(other calls) calls { return calls{c.made + other.made, c.refused + other.refused} }

func (c calls) minus(other calls) calls { return calls{c.made - other.made, c.refused - other.refused} }

// openPartner serves at a free port of this machine.
func openPartner(quota int) (*partner, error) {
	p := &partner{store: bucket.NewMemoryStore(), served: make(chan error, 1), calls: map[string]calls{}}
	l, err := bucket.New(bucket.Config{Name: "partner", Limit: bucket.PerSecond(int64(quota)), Store: p.store})
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if program.Rest(r.Context(), answersWithin) {
			w.WriteHeader(http.StatusNoContent)
		}
	})
	limited := bucket.Middleware(l, bucket.MiddlewareConfig{})(answer)
	p.server = &http.Server{Handler: p.count(limited), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute}
	p.url = "http://" + listener.Addr().String() + "/"
	go func() { p.served <- p.server.Serve(listener) }()
	return p, nil
}

// count counts what a handler answers.
func (p *partner) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen := &seenStatus{ResponseWriter: w}
		next.ServeHTTP(seen, r)
		one := calls{made: 1}
		if seen.status == http.StatusTooManyRequests {
			one.refused = 1
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		name := r.Header.Get(processHeader)
		p.calls[name] = p.calls[name].plus(one)
	})
}

// seenStatus remembers the status of an answer.
type seenStatus struct {
	http.ResponseWriter

	status int
}

// WriteHeader remembers the status.
func (s *seenStatus) WriteHeader(status int) {
	s.status = status
	s.ResponseWriter.WriteHeader(status)
}

// of returns the calls of some processes, and of all if none are named.
func (p *partner) of(names ...string) (sum calls) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(names) == 0 {
		for _, one := range p.calls {
			sum = sum.plus(one)
		}
	}
	for _, name := range names {
		sum = sum.plus(p.calls[name])
	}
	return sum
}

// forget fills the partner's reserve, as a quiet second would.
func (p *partner) forget(ctx context.Context) error { return p.store.Reset(ctx, "") }

// close ends the server.
func (p *partner) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), graceOfAnswers)
	defer cancel()
	err := p.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = p.server.Close() // somebody does not let go
	}
	if served := <-p.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
