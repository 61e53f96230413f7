package customer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"time"
)

const (
	// What an endpoint that is well needs for an answer.
	shortestWork, longestWork = 2 * time.Millisecond, 6 * time.Millisecond
	// maxBody is what an endpoint reads of a webhook.
	maxBody = 64 << 10
	// nobody is an address where nobody listens: a port that no program takes by chance, not even as its own end of a connection.
	nobody = "http://127.0.0.1:1"
)

// Server is all endpoints, each under a path of its own.
type Server struct {
	endpoints []*Endpoint
	listener  net.Listener
	server    *http.Server
	served    chan error
}

// Open starts the server of so many endpoints, of so many tenants.
func Open(endpoints, tenants int) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("customer: %w", err)
	}
	s := &Server{listener: listener, served: make(chan error, 1)}
	for i := range endpoints {
		s.endpoints = append(s.endpoints, newEndpoint(i, tenants))
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /hooks/{number}", s.take)
	s.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { s.served <- s.server.Serve(listener) }()
	return s, nil
}

// Endpoints returns all endpoints.
func (s *Server) Endpoints() []*Endpoint { return s.endpoints }

// URL returns where an endpoint is to be found now. The name of one that refuses leads to nobody.
func (s *Server) URL(e *Endpoint) string {
	base := "http://" + s.listener.Addr().String()
	if e.Health() == Refusing {
		base = nobody
	}
	return base + "/hooks/" + strconv.Itoa(e.Number)
}

// Close ends the server and every call that hangs.
func (s *Server) Close() error {
	err := s.server.Close()
	if served := <-s.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// take is what an endpoint does with a webhook.
func (s *Server) take(w http.ResponseWriter, r *http.Request) {
	number, err := strconv.Atoi(r.PathValue("number"))
	if err != nil || number < 0 || number >= len(s.endpoints) {
		http.NotFound(w, r)
		return
	}
	if _, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, maxBody)); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	switch e := s.endpoints[number]; e.Health() {
	case Hanging:
		<-r.Context().Done() // the caller has given up, or the server ends
	case Failing:
		w.WriteHeader(http.StatusInternalServerError)
	case Flaky:
		if rand.IntN(100) < e.failing {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		fallthrough
	default:
		work(r.Context())
		w.WriteHeader(http.StatusNoContent)
	}
}

// work takes a moment, as an endpoint's own database would.
func work(ctx context.Context) {
	timer := time.NewTimer(shortestWork + rand.N(longestWork-shortestWork))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
