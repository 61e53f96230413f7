package soak

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

	"github.com/spillway-go/spillway/internal/integration/program"
)

type disruption struct {
	every                        time.Duration // between two changes of the storefront
	controls, freezes, abandoned atomic.Int64
}

func (d *disruption) String() string {
	return fmt.Sprintf("%d changes of the storefront, %d freezes, %d abandoned requests", d.controls.Load(), d.freezes.Load(), d.abandoned.Load())
}

func (d *disruption) complete() bool {
	return d.controls.Load() > 0 && d.freezes.Load() > 0 && d.abandoned.Load() > 0
}

// control changes the load, the backend and the throttle of the storefront, in a loop.
func (d *disruption) control(ctx context.Context, c *child) {
	client := &http.Client{Timeout: program.Timeout}
	for {
		for _, change := range []string{
			`{"load": 4}`, `{"backend": "down"}`, `{"backend": "up", "load": 1}`, `{"policy": "sre", "load": 4}`, `{"capacity": 100}`,
			`{"backend": "brownout", "load": 2}`, `{"throttle": "off", "backend": "up"}`,
			`{"throttle": "on", "policy": "tiered", "capacity": 400, "load": 0.8}`,
		} {
			if _, err := request(ctx, client, http.MethodPost, c.url+"/control", change); err == nil {
				d.controls.Add(1)
			} else if ctx.Err() == nil {
				c.problem(err)
			}
			if !program.Sleep(ctx, d.every) {
				return
			}
		}
	}
}

// freeze stops one example after the other for two seconds. Connections stay open meanwhile.
func (d *disruption) freeze(ctx context.Context, children []*child) {
	for {
		for _, c := range children {
			if !program.Sleep(ctx, d.every+rand.N(2*d.every)) {
				return
			}
			if syscall.Kill(c.PID(), syscall.SIGSTOP) != nil {
				continue // it has ended
			}
			d.freezes.Add(1)
			program.Sleep(ctx, 2*time.Second)
			_ = syscall.Kill(c.PID(), syscall.SIGCONT)
		}
	}
}

// abandon reads the beginning of a scrape or a stream, waits, and closes the connection.
func (d *disruption) abandon(ctx context.Context, c *child) {
	host := strings.TrimPrefix(c.url, "http://")
	for {
		for _, path := range []string{"/metrics", "/debug/throttle?format=stream"} {
			dialer := net.Dialer{Timeout: program.Timeout}
			if conn, err := dialer.DialContext(ctx, "tcp", host); err == nil {
				stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
				_ = conn.(*net.TCPConn).SetReadBuffer(256)
				_, _ = io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: "+host+"\r\n\r\n")
				if _, err := io.ReadFull(conn, make([]byte, 256)); err == nil {
					d.abandoned.Add(1)
				}
				program.Sleep(ctx, 2*time.Second)
				stop()
				_ = conn.Close()
			}
			if !program.Sleep(ctx, time.Second) {
				return
			}
		}
	}
}
