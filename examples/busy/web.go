package main

import (
	"embed"
	"encoding/json"
	"fmt"
	"net"
	"net/http"

	"github.com/spillway-go/spillway/examples/internal/page"
	"github.com/spillway-go/spillway/examples/internal/program"
)

//go:embed page
var files embed.FS

type web struct {
	address  string
	listener net.Listener
	server   *http.Server
}

// listen takes the address. Requests wait until serve is called.
func listen(address string) (*web, error) {
	listener, err := program.Listen(address, "-addr")
	return &web{address: address, listener: listener}, err
}

func (w *web) url() string { return page.URL(w.listener.Addr()) }

func (w *web) serve(b *busy) {
	w.server = page.NewServer(b.handler(w.address))
	w.server.RegisterOnShutdown(b.stream.Close)
	go func() { _ = w.server.Serve(w.listener) }() // the error is that it was closed
}

func (w *web) close() {
	if w.server == nil {
		_ = w.listener.Close() // it has accepted no connection
		return
	}
	_ = program.Shutdown(w.server) // its listener may have failed before
}

// handler returns the handler of all addresses.
func (b *busy) handler(listen string) http.Handler {
	mux := http.NewServeMux()
	page.Handle(mux, files)
	mux.Handle("GET /stream", page.KnownHost(listen, b.stream))
	mux.Handle("POST /control", page.KnownHost(listen, page.SameOrigin(http.HandlerFunc(b.control))))
	return page.WithHeaders(mux)
}

type change struct {
	Load  *float64 `json:"load"`
	Burst bool     `json:"burst"` // send more requests than the servers can answer within patience, at once
}

func (b *busy) control(w http.ResponseWriter, r *http.Request) {
	var c change
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<10))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&c)
	if err == nil && c.Load != nil && !(*c.Load >= 0 && *c.Load <= maxLoad) {
		err = fmt.Errorf("load is %v: want 0 to %d", *c.Load, maxLoad)
	}
	if err != nil {
		page.WriteJSON(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
		return
	}
	if c.Load != nil {
		b.load.set(*c.Load)
	}
	if c.Burst {
		b.load.burst.Add(int64(burstSeconds * b.load.capacity))
	}
	page.WriteJSON(w, http.StatusOK, map[string]float64{"load": b.load.get()})
}
