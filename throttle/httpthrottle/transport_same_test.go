package httpthrottle_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"strconv"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
	"github.com/spillway-go/spillway/throttle/throttletest"
)

type place struct {
	client *http.Client
	url    string
}

func serve(t *testing.T, handler http.Handler, http2 bool) place {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = http2
	server.Config.ErrorLog = quiet()
	server.StartTLS()
	t.Cleanup(server.Close)
	return place{server.Client(), server.URL}
}

// compare runs a scenario at a bare place and at another, which must look the same.
func compare(t *testing.T, what string, bare, other place, run scenario) {
	t.Helper()
	var want, got transcript
	run(&want, bare.client, bare.url)
	run(&got, other.client, other.url)
	if got.String() != want.String() {
		t.Errorf("%s: got\n%swithout us:\n%s", what, got.String(), want.String())
	}
}

func TestTransport_SameAsWithout(t *testing.T) {
	all := scenarios()
	for _, http2 := range []bool{false, true} {
		bare, rec := serve(t, scenery(), http2), throttletest.NewRecorder()
		base := bare.client.Transport.(*http.Transport).Clone()
		t.Cleanup(base.CloseIdleConnections)
		transport := newTransport(t, base, httpthrottle.TransportConfig{Throttle: throttle.Config{Rand: lucky, Hooks: rec.Hooks()}})
		throttled := place{&http.Client{Transport: transport}, bare.url}
		bare.client.Transport = roundTrip(bare.client.Transport.RoundTrip) // with no method that ours lacks
		for name, run := range all {
			t.Run(fmt.Sprintf("HTTP2=%v/%s", http2, name), func(t *testing.T) { compare(t, name, bare, throttled, run) })
		}
		if !http2 {
			compare(t, "upgrade", bare, throttled, upgrading)
		}
		equal(t, "started calls finished", rec.Count(throttletest.KindStarted), rec.Count(throttletest.KindFinished))
		equal(t, "in flight", strings.Contains(books(throttleOf(t, transport, strings.TrimPrefix(bare.url, "https://"))), "in flight"), false)
	}
}

// upgrading lets a connection change hands: both directions work, and so does closing one of them, as far as it goes.
func upgrading(tr *transcript, client *http.Client, server string) {
	r, _ := http.NewRequestWithContext(context.Background(), http.MethodGet, server+"/upgrade", http.NoBody)
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", "loud")
	response, err := client.Do(r)
	tr.response(response, err)
	if err != nil {
		return
	}
	conn := response.Body.(io.ReadWriteCloser)
	in := bufio.NewReader(conn)
	for _, line := range []string{"one\n", "two\n"} {
		_, err := io.WriteString(conn, line)
		answer, readErr := in.ReadString('\n')
		tr.say("%q, %v, %v", answer, err, readErr)
	}
	half, ok := conn.(interface{ CloseWrite() error })
	tr.say("half-closes %v", ok)
	if ok {
		tr.say("half-close %v", half.CloseWrite())
	}
	rest, err := io.ReadAll(in)
	tr.say("rest %q, %v, close %v", rest, err, conn.Close())
}

type scenario = func(tr *transcript, client *http.Client, server string)

func do(method, path string, body func() io.Reader, change ...func(*http.Request)) scenario {
	return func(tr *transcript, client *http.Client, server string) {
		var text io.Reader
		if body != nil {
			text = body()
		}
		ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{
			Got100Continue: func() { tr.say("100") },
			Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
				tr.header(strconv.Itoa(code), http.Header(h))
				return nil
			},
		})
		r, err := http.NewRequestWithContext(ctx, method, server+path, text)
		if err != nil {
			tr.say("%v", err)
			return
		}
		for _, f := range change {
			f(r)
		}
		tr.response(client.Do(r)) //nolint:bodyclose // response closes it
	}
}

func ofBytes(n int) func() io.Reader {
	return func() io.Reader { return bytes.NewReader(bytes.Repeat([]byte("x"), n)) }
}

func ofStream(n int64) func() io.Reader {
	return func() io.Reader { return io.LimitReader(endless{}, n) }
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'e'
	}
	return len(p), nil
}

func scenarios() map[string]scenario {
	length := func(n int64) func(*http.Request) { return func(r *http.Request) { r.ContentLength = n } }
	set := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	trailer := func(r *http.Request) { r.Trailer = http.Header{"After": {"all"}} }
	all := map[string]scenario{
		"get": do("GET", "/echo", nil), "head": do("HEAD", "/echo", nil), "sized": do("GET", "/size?flush=1&n=65536", nil),
		"stream":          do("POST", "/echo", ofStream(100_000)),
		"stream, empty":   do("POST", "/echo", ofStream(0)),
		"stream, length":  do("PUT", "/echo", ofStream(100_000), length(100_000)),
		"stream, trailer": do("POST", "/echo", ofStream(10), trailer),
		"nop closer":      do("PUT", "/echo", nil, func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("text")) }, length(4)),
		"own header":      do("GET", "/echo", nil, set("A", "1"), set("User-Agent", "")),
		"trailer":         do("GET", "/trailer", nil),
		"hints":           do("GET", "/hints", nil),
		"gzip":            do("GET", "/gzip", nil),
		"gzip, asked":     do("GET", "/gzip", nil, set("Accept-Encoding", "gzip")),
		"continue":        do("POST", "/echo", ofBytes(5000), set("Expect", "100-continue")),
		"not continued":   do("POST", "/refuse", ofBytes(5000), set("Expect", "100-continue")),
		"break":           do("GET", "/break", nil),
		"bad method":      do("GET", "/echo", nil, func(r *http.Request) { r.Method = "A B" }),
		"no host":         do("GET", "/echo", nil, func(r *http.Request) { r.URL.Host = "" }),
	}
	for _, status := range []int{204, 206, 304, 401, 417, 503, 999} {
		all[fmt.Sprint("status ", status)] = do("GET", fmt.Sprint("/status/", status), nil)
	}
	for _, status := range []int{303, 307} {
		all[fmt.Sprint("redirect ", status)] = do("POST", fmt.Sprint("/redirect/", status), ofBytes(10))
		all[fmt.Sprint("redirect a stream ", status)] = do("POST", fmt.Sprint("/redirect/", status), ofStream(10))
	}
	return all
}
