package program

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// shutdownTimeout is the longest time that Shutdown waits for responses in flight.
const shutdownTimeout = time.Second

// Shutdown stops a server. It closes connections that are still open after a second.
func Shutdown(server *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	err := server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close() // a client keeps its connection, or has opened one without a request, as browsers do
	}
	return err
}
