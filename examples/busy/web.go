package main

import (
	"embed"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/spillway-go/spillway/examples/internal/page"
)

//go:embed page
var files embed.FS

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
	err := page.ReadJSON(w, r, 1<<10, &c, (*json.Decoder).DisallowUnknownFields)
	if err == nil && c.Load != nil && !(*c.Load >= 0 && *c.Load <= maxLoad) {
		err = fmt.Errorf("load is %v: want 0 to %d", *c.Load, maxLoad)
	}
	if err != nil {
		page.WriteError(w, err)
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
