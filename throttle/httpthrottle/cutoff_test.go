package httpthrottle_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// An upload is a request whose body the client sends in two parts: the server reads the first part,
// and answers when the client has sent the second.
type upload struct {
	header        string
	first, second string
	continues     bool // the server sends 100 Continue
}

func (u upload) send(t *testing.T, handle func(w http.ResponseWriter, r *http.Request, sent func())) string {
	t.Helper()
	sent := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handle(w, r, func() { <-sent }) }))
	defer server.Close()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second)) // a server that waits for more does not answer
	in := bufio.NewReader(conn)
	_, _ = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: "+host+"\r\n"+u.header+"\r\n")
	if u.continues {
		line, _ := in.ReadString('\n')
		empty, _ := in.ReadString('\n')
		equal(t, "interim response", line+empty, "HTTP/1.1 100 Continue\r\n\r\n")
	}
	_, err = io.WriteString(conn, u.first+u.second)
	equal(t, "error of the upload", err, nil)
	close(sent)
	response, err := http.ReadResponse(in, nil)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	got := fmt.Sprintf("%d %q %v, close %v", response.StatusCode, text, err, response.Close)
	if response.Close {
		_ = conn.(*net.TCPConn).CloseWrite() // the server waits for a rest that is small
		_, err = in.ReadByte()
		got += fmt.Sprintf(", then %v", err)
	}
	return got
}

// A client that sends more than a handler reads gets the same answer as without the middleware. The
// server first ends its own direction of the connection, so that the answer is not lost.
func TestMiddleware_CutsOffAnUpload(t *testing.T) {
	const small, large = 64 << 10, 1 << 30
	much := strings.Repeat("x", small/2)
	length := func(n int) string { return fmt.Sprintf("Content-Length: %d\r\n", n) }
	const expect, chunked = "Expect: 100-continue\r\n", "Transfer-Encoding: chunked\r\n"
	var uploads sync.WaitGroup // at the same time: a server waits before it closes a connection
	polite := func(status int) string { return fmt.Sprintf(`%d "no\n" <nil>, close true, then EOF`, status) }
	for name, c := range map[string]struct {
		upload
		status int
		want   string
	}{
		"413":                   {upload{length(small), "1", much, false}, 413, polite(413)},
		"413, large":            {upload{length(large), "1", much, false}, 413, polite(413)},
		"413, chunked":          {upload{chunked, "2\r\n12\r\n", "8000\r\n" + much, false}, 413, polite(413)},
		"413, expect":           {upload{length(small) + expect, "1", much, true}, 413, polite(413)},
		"413, large, expect":    {upload{length(large) + expect, "1", much, true}, 413, polite(413)},
		"400, large":            {upload{length(large), "1", much, false}, 400, polite(400)},
		"400, large, expect":    {upload{length(large) + expect, "1", much, true}, 400, polite(400)},
		"400, not at the limit": {upload{length(3), "1", "23", false}, 400, `400 "no\n" <nil>, close false`},
		"413 at the end":        {upload{length(1), "1", "", false}, 413, `413 "no\n" <nil>, close false`},
		"400, expect, the end":  {upload{length(1) + expect, "1", "", true}, 400, `400 "no\n" <nil>, close false`},
	} {
		read := func(w http.ResponseWriter, r *http.Request, sent func()) {
			body := r.Body
			if !strings.Contains(name, "not at the limit") {
				body = http.MaxBytesReader(w, body, 1)
			}
			_, err := io.ReadFull(body, make([]byte, 1))
			equal(t, name+": error of the first part", err, nil)
			sent()
			_, _ = body.Read(make([]byte, 1))
			http.Error(w, "no", c.status)
		}
		uploads.Go(func() { equal(t, name+": net/http", c.send(t, read), c.want) })
		for _, after := range []time.Duration{0, -1} {
			th := newThrottle(t, throttle.Config{})
			serve := httpthrottle.Middleware(th, httpthrottle.MiddlewareConfig{CanceledAfter: after})
			within := func(w http.ResponseWriter, r *http.Request, sent func()) {
				serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { read(w, r, sent) })).ServeHTTP(wrapped{w}, r)
			}
			uploads.Go(func() { equal(t, name+": middleware", c.send(t, within), c.want) })
		}
	}
	uploads.Wait()
}
