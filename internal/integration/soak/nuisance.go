package main

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// How clients behave that nobody wants.
const (
	betweenScrapes = 3 * time.Second
	sip            = 256 // bytes that a slow viewer takes at a time,
	betweenSips    = 200 * time.Millisecond
	slowStay       = 8 * time.Second
	muteStay       = 15 * time.Second // longer than the page bears somebody who takes nothing
)

// nuisance is clients of a child that behave badly: scrapes that are abandoned half-way, and viewers of event streams that come and go
// and read slowly, or not at all.
type nuisance struct {
	url     string
	streams []string

	abandoned, viewers atomic.Int64
}

// run goes on until ctx ends. That a request fails is no wonder.
func (n *nuisance) run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() {
		for rest(ctx, betweenScrapes) {
			n.visit(ctx, "/metrics", func(c net.Conn) {
				if _, err := io.ReadFull(c, make([]byte, sip)); err == nil {
					n.abandoned.Add(1)
				}
			})
		}
	})
	for _, stream := range n.streams {
		all.Go(func() { n.keepVisiting(ctx, stream, slowStay, readSlowly) })
		all.Go(func() { n.keepVisiting(ctx, stream, muteStay, readNothing) })
	}
}

// keepVisiting opens a stream again and again, and stays for a while each time.
func (n *nuisance) keepVisiting(ctx context.Context, stream string, stay time.Duration, read func(context.Context, net.Conn)) {
	for {
		n.visit(ctx, stream, func(c net.Conn) {
			staying, leave := context.WithTimeout(ctx, stay)
			defer leave()
			read(staying, c)
			n.viewers.Add(1)
		})
		if !rest(ctx, time.Second) {
			return
		}
	}
}

func readSlowly(ctx context.Context, c net.Conn) {
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Now()) })
	defer stop()
	part := make([]byte, sip)
	for rest(ctx, betweenSips) {
		if _, err := c.Read(part); err != nil {
			return
		}
	}
}

func readNothing(ctx context.Context, _ net.Conn) { <-ctx.Done() }

// visit makes a request and closes the connection when whoever reads it has had enough. It takes so little at a time that the child has to wait.
func (n *nuisance) visit(ctx context.Context, path string, read func(net.Conn)) {
	host := strings.TrimPrefix(n.url, "http://")
	dialer := net.Dialer{Timeout: patienceAnswer}
	c, err := dialer.DialContext(ctx, "tcp", host)
	if err != nil {
		return
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Now()) })
	defer stop()
	_ = c.(*net.TCPConn).SetReadBuffer(sip) // as little as the system lets it be
	_ = c.SetDeadline(time.Now().Add(patienceAnswer))
	if _, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: "+host+"\r\n\r\n"); err == nil {
		read(c)
	}
}
