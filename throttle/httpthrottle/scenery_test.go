package httpthrottle_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// scenery is what the server can do.
func scenery() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", echo)
	mux.HandleFunc("/size", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.FormValue("n"))
		text := bytes.Repeat([]byte("0123456789abcdef"), n/16+1)[:n]
		_, _ = w.Write(text[:n/2])
		if r.FormValue("flush") != "" {
			w.(http.Flusher).Flush()
		}
		_, _ = w.Write(text[n/2:])
	})
	mux.HandleFunc("/status/{status}", func(w http.ResponseWriter, r *http.Request) {
		status, _ := strconv.Atoi(r.PathValue("status"))
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(status)
	})
	mux.HandleFunc("/trailer", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "A, B")
		_, _ = io.WriteString(w, "text")
		w.Header().Set("A", "1")
		w.Header().Set("B", "2")
		w.Header().Set(http.TrailerPrefix+"C", "3")
	})
	mux.HandleFunc("/hints", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</style.css>")
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusProcessing)
		_, _ = io.WriteString(w, "text")
	})
	mux.HandleFunc("/gzip", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, strings.Repeat("text", 1000))
		_ = z.Close()
	})
	mux.HandleFunc("/redirect/{status}", func(w http.ResponseWriter, r *http.Request) {
		status, _ := strconv.Atoi(r.PathValue("status"))
		http.Redirect(w, r, "/echo", status)
	})
	mux.HandleFunc("/refuse", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusExpectationFailed) })
	mux.HandleFunc("/break", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, "text")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	mux.HandleFunc("/hang", func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	})
	mux.HandleFunc("/drip", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "text")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	})
	mux.HandleFunc("/upgrade", upgrade)
	return mux
}

// echo says all about the request.
func echo(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	fmt.Fprintf(w, "%s %s %s, length %d, %v, %x, error %v\n", r.Method, r.URL, r.Proto, r.ContentLength, r.TransferEncoding, sha256.Sum256(text), err)
	for _, h := range []http.Header{r.Header, r.Trailer} {
		for _, key := range slices.Sorted(maps.Keys(h)) {
			fmt.Fprintf(w, "%s: %q\n", key, h[key])
		}
	}
}

// upgrade switches protocols, to one that says everything back in upper case.
func upgrade(w http.ResponseWriter, _ *http.Request) {
	conn, rw, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: loud\r\n\r\n")
	for line := range lines(rw.Reader) {
		_, _ = io.WriteString(conn, strings.ToUpper(line))
	}
}

func lines(r *bufio.Reader) func(func(string) bool) {
	return func(yield func(string) bool) {
		for {
			line, err := r.ReadString('\n')
			if err != nil || !yield(line) {
				return
			}
		}
	}
}

// tunnel is a proxy that knows CONNECT only.
func tunnel(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		http.Error(w, "CONNECT only", http.StatusMethodNotAllowed)
		return
	}
	server, err := net.Dial("tcp", r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer server.Close()
	client, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	_, _ = io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n")
	go func() { _, _ = io.Copy(server, client); _ = server.Close() }()
	_, _ = io.Copy(client, server)
}
