package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// audience looks at a child's /debug/throttle all the time, in all of its formats.
type audience struct {
	url string

	pages    atomic.Int64 // answers that were good
	events   atomic.Int64
	reopened atomic.Int64 // streams that ended of themselves
	wrong    incidents
}

// run looks until ctx ends.
func (a *audience) run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { a.reload(ctx, "html", "<html", 2*time.Second) })
	all.Go(func() { a.reload(ctx, "json", `"throttles"`, time.Second) })
	all.Go(func() { a.follow(ctx) })
}

// reload asks for a page again and again.
func (a *audience) reload(ctx context.Context, format, want string, every time.Duration) {
	client := &http.Client{Transport: &http.Transport{}, Timeout: patienceAnswer}
	defer client.CloseIdleConnections()
	for {
		text, err := fetch(ctx, client, http.MethodGet, a.url+"/debug/throttle?format="+format, nil)
		if ctx.Err() != nil {
			return
		}
		if err == nil && !bytes.Contains(text, []byte(want)) {
			err = fmt.Errorf("got %.100q want in it %s", text, want)
		}
		a.wrong.note("/debug/throttle as "+format, err)
		if err == nil {
			a.pages.Add(1)
		}
		if !rest(ctx, every) {
			return
		}
	}
}

// follow reads the stream of events, and opens it again if it ends: a child that was frozen may think that it is we who do not keep up.
func (a *audience) follow(ctx context.Context) {
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for {
		err := a.stream(ctx, client)
		if ctx.Err() != nil {
			return
		}
		a.wrong.note("/debug/throttle as a stream", err)
		a.reopened.Add(1)
		if !rest(ctx, time.Second) {
			return
		}
	}
}

// stream reads one stream to its end, which is no error once there were events.
func (a *audience) stream(ctx context.Context, client *http.Client) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, a.url+"/debug/throttle?format=stream", nil)
	if err != nil {
		return err
	}
	response, err := client.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	before := a.events.Load()
	lines := bufio.NewReader(response.Body)
	for {
		line, err := lines.ReadSlice('\n')
		if bytes.HasPrefix(line, []byte("event:")) {
			a.events.Add(1)
		}
		if err == nil || errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if a.events.Load() > before {
			return nil
		}
		return err
	}
}
