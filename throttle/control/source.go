package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/remote"
)

const (
	// readTimeout limits a read of WatchFunc.
	readTimeout = 5 * time.Second
	// readInterval is the time between two reads of WatchFunc by default, and shortestInterval the shortest that it accepts.
	readInterval     = 10 * time.Second
	shortestInterval = time.Second
)

// WatchFunc applies the document that read returns, as [Control.Watch] does with a file: now, and each time that it has changed.
// The name is shown where a file's path would be. Between two reads it waits for every, and up to a tenth more; 0 means 10 s.
// The context of a read ends after 5 s. A read that fails, panics or calls
// runtime.Goexit changes nothing, and is tried again. Its settings have the source throttle.SourceFile.
//
// Use [ReadURL] for a document on a server of HTTP, and a function of a few lines for another store.
func (c *Control) WatchFunc(ctx context.Context, name string, every time.Duration, read func(context.Context) ([]byte, error)) error {
	switch {
	case read == nil:
		return errors.New("control: WatchFunc: read is nil")
	case name == "":
		return errors.New("control: WatchFunc: name is empty")
	case every == 0:
		every = readInterval
	case every < shortestInterval:
		return fmt.Errorf("control: WatchFunc: every is %v: want at least %v", every, shortestInterval)
	}
	every = max(every, every+rand.N(every/10)) //nolint:gosec // it spreads the reads of a fleet; max, because the sum may overflow
	return c.watch(ctx, &watcher{path: name, from: name, every: every, read: func(ctx context.Context) ([]byte, time.Time, error) {
		ctx, end := context.WithTimeout(ctx, readTimeout)
		defer end()
		data, err := remote.Await(context.WithoutCancel(ctx), func(context.Context) ([]byte, error) { return recovered(ctx, read) }, nil)
		if err != nil {
			err = fmt.Errorf("control: %s: %w", name, err)
		}
		return data, time.Time{}, err
	}})
}

// recovered calls read. A panic is an error: in the goroutine of a watcher it would end the process.
func recovered(ctx context.Context, read func(context.Context) ([]byte, error)) (data []byte, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("read panicked: %v", value)
		}
	}()
	return read(ctx)
}

// ReadURL returns a function for [Control.WatchFunc] that gets a document by HTTP. It sends the ETag of the last response as
// If-None-Match, so that a document that has not changed is not sent again. A nil client means [http.DefaultClient]. The
// function is for one goroutine.
//
//	err := ctl.WatchFunc(ctx, "the fleet's settings", 0, control.ReadURL(nil, "https://config.example.com/control.json"))
func ReadURL(client *http.Client, address string) func(context.Context) ([]byte, error) {
	if client == nil {
		client = http.DefaultClient
	}
	var etag string
	var last []byte
	return func(ctx context.Context) ([]byte, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
		if err != nil { // it may have a part of a password
			return nil, errors.New("GET: the address is no valid URL: want one with special characters as %XX")
		}
		if etag != "" {
			request.Header.Set("If-None-Match", etag)
		}
		response, err := client.Do(request)
		if err != nil {
			return nil, reasonOf(err)
		}
		defer response.Body.Close()
		if response.StatusCode == http.StatusNotModified && etag != "" {
			return last, nil
		}
		if response.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("GET: status is %.80q: want 200", response.Status)
		}
		data, err := io.ReadAll(io.LimitReader(response.Body, MaxDocument+1))
		if err != nil {
			return nil, reasonOf(err)
		}
		etag, last = response.Header.Get("ETag"), data
		return data, nil
	}
}

// reasonOf returns the reason of a failure without the address, which may have a password or a token.
func reasonOf(err error) error {
	if wrong := (*url.Error)(nil); errors.As(err, &wrong) {
		err = wrong.Err
	}
	return fmt.Errorf("GET: %w", err)
}
