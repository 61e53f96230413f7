package page

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// shutdownTimeout is the longest time that Close waits for responses in flight.
const shutdownTimeout = time.Second

// Server is a server of live pages, with limits for slow and broken clients. A [Stream] sets deadlines of
// its own.
type Server struct {
	URL string // for a browser on this machine

	listener net.Listener
	server   http.Server
	served   chan error // nil until Serve
}

// Listen listens at the address of a flag. Requests wait until Serve is called.
func Listen(address, flag string) (*Server, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w: choose another address with %s, or 127.0.0.1:0 for any free port", address, err, flag)
	}
	s := &Server{URL: "http://" + listener.Addr().String(), listener: listener}
	if tcp, ok := listener.Addr().(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		s.URL = fmt.Sprintf("http://localhost:%d", tcp.Port)
	}
	return s, nil
}

// Serve serves in the background. Close calls closeStreams, and ended is called when the server has ended.
func (s *Server) Serve(handler http.Handler, closeStreams, ended func()) {
	s.served = make(chan error, 1)
	s.server.Handler = handler
	s.server.ReadHeaderTimeout, s.server.ReadTimeout = 5*time.Second, 10*time.Second
	s.server.WriteTimeout, s.server.IdleTimeout = 30*time.Second, time.Minute
	s.server.MaxHeaderBytes = 32 << 10
	s.server.RegisterOnShutdown(closeStreams)
	go func() {
		defer ended()
		s.served <- s.server.Serve(s.listener)
	}()
}

// Close stops the server. It closes connections that are still open after a second.
func (s *Server) Close() error {
	if s.served == nil {
		return s.listener.Close() // it has accepted no connection
	}
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	err := s.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.server.Close() // a client keeps its connection, or has opened one without a request, as browsers do
	}
	if served := <-s.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
