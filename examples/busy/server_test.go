package main

import (
	"net"
	"net/http"
	"testing"
)

func TestAServerLimitsItsConnections(t *testing.T) {
	changed := newServer(http.NotFoundHandler()).ConnState
	accept := func() chan struct{} {
		accepted := make(chan struct{})
		go func() {
			defer close(accepted)
			changed(nil, http.StateNew)
		}()
		return accepted
	}
	for range maxConnections {
		<-accept()
	}
	next := accept()
	select {
	case <-next:
		t.Error("got one connection too many")
	default:
	}
	changed(nil, http.StateActive)
	changed(net.Conn(nil), http.StateClosed)
	<-next
}
