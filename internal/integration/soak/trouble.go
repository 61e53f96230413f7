package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// trouble is what happens to the examples.
type trouble struct {
	every                        time.Duration // between two changes of the storefront
	controls, freezes, abandoned atomic.Int64
}

// missing returns a complaint if a kind of trouble did not happen.
func (t *trouble) missing() []string {
	if t.controls.Load() == 0 || t.freezes.Load() == 0 || t.abandoned.Load() == 0 {
		return []string{fmt.Sprintf("nothing is proved: %d changes of the storefront, %d freezes, %d abandoned requests",
			t.controls.Load(), t.freezes.Load(), t.abandoned.Load())}
	}
	return nil
}

// control changes the load, the backend and the throttle of the storefront, over and over.
func (t *trouble) control(ctx context.Context, c *child) {
	client := &http.Client{Timeout: patience}
	for {
		for _, wish := range []string{
			`{"load": 4}`, `{"backend": "down"}`, `{"backend": "up", "load": 1}`, `{"policy": "sre", "load": 4}`, `{"capacity": 100}`,
			`{"backend": "brownout", "load": 2}`, `{"throttle": "off", "backend": "up"}`,
			`{"throttle": "on", "policy": "tiered", "capacity": 400, "load": 0.8}`,
		} {
			if _, err := request(ctx, client, http.MethodPost, c.url+"/control", wish); err == nil {
				t.controls.Add(1)
			} else if ctx.Err() == nil {
				c.fault(err)
			}
			if !rest(ctx, t.every) {
				return
			}
		}
	}
}

// freeze stops one example after the other for two seconds. Its connections stay open.
func (t *trouble) freeze(ctx context.Context, children []*child) {
	for {
		for _, c := range children {
			if !rest(ctx, t.every+rand.N(2*t.every)) {
				return
			}
			if c.cmd.Process.Signal(syscall.SIGSTOP) != nil {
				continue // it has ended
			}
			t.freezes.Add(1)
			rest(ctx, 2*time.Second)
			_ = c.cmd.Process.Signal(syscall.SIGCONT)
		}
	}
}

// abandon reads a part of a scrape, and of a stream, waits, and closes the connection.
func (t *trouble) abandon(ctx context.Context, c *child) {
	host := strings.TrimPrefix(c.url, "http://")
	for {
		for _, path := range []string{"/metrics", "/debug/throttle?format=stream"} {
			dialer := net.Dialer{Timeout: patience}
			if conn, err := dialer.DialContext(ctx, "tcp", host); err == nil {
				stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
				_ = conn.(*net.TCPConn).SetReadBuffer(256)
				_, _ = io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: "+host+"\r\n\r\n")
				if _, err := io.ReadFull(conn, make([]byte, 256)); err == nil {
					t.abandoned.Add(1)
				}
				rest(ctx, 2*time.Second)
				stop()
				_ = conn.Close()
			}
			if !rest(ctx, time.Second) {
				return
			}
		}
	}
}
