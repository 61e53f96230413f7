package httpthrottle_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

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
	mux.HandleFunc("/copy", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.FormValue("n"))
		_, _ = io.Copy(w, io.LimitReader(endless{}, int64(n)))
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
	mux.HandleFunc("/abilities", func(w http.ResponseWriter, _ *http.Request) {
		control := http.NewResponseController(w)
		_, str := w.(io.StringWriter)
		fmt.Fprintln(w, abilities(w), str)
		fmt.Fprintln(w, control.SetReadDeadline(time.Time{}), control.SetWriteDeadline(time.Now().Add(time.Hour)), control.Flush())
	})
	mux.HandleFunc("/file", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, "doc.go") })
	mux.HandleFunc("/panic", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	mux.HandleFunc("/refuse", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusExpectationFailed) })
	mux.HandleFunc("/break", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, "text")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	mux.HandleFunc("/upgrade", upgrade)
	return mux
}

func echo(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	fmt.Fprintf(w, "%s %s %s, length %d, %v, %x, error %v\n", r.Method, r.URL, r.Proto, r.ContentLength, r.TransferEncoding, sha256.Sum256(text), err)
	for _, h := range []http.Header{r.Header, r.Trailer} {
		for _, key := range slices.Sorted(maps.Keys(h)) {
			fmt.Fprintf(w, "%s: %q\n", key, h[key])
		}
	}
}

func upgrade(w http.ResponseWriter, _ *http.Request) {
	conn, rw, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: loud\r\n\r\n")
	for lines := bufio.NewScanner(rw); lines.Scan(); {
		_, _ = io.WriteString(conn, strings.ToUpper(lines.Text())+"\n")
	}
}

// transcript is all that a client sees of an exchange, without times and the numbers of ports and streams.
type transcript struct {
	strings.Builder
}

func (tr *transcript) say(format string, args ...any) {
	numbers := regexp.MustCompile(`((127\.0\.0\.1|\[::1\]):|stream ID )\d+`)
	fmt.Fprintln(tr, numbers.ReplaceAllString(fmt.Sprintf(format, args...), "${1}0"))
}

func (tr *transcript) header(name string, h http.Header) {
	for _, key := range slices.Sorted(maps.Keys(h)) {
		if key != "Date" {
			tr.say("%s %s: %q", name, key, h[key])
		}
	}
}

func (tr *transcript) response(response *http.Response, err error) {
	if err != nil {
		tr.say("error %T %v, timeout %v", err, err, os.IsTimeout(err))
		return
	}
	tr.say("%s %s, length %d, %v, close %v, uncompressed %v", response.Proto, response.Status, response.ContentLength,
		response.TransferEncoding, response.Close, response.Uncompressed)
	tr.header("header", response.Header)
	_, writer := response.Body.(io.Writer)
	_, half := response.Body.(interface{ CloseWrite() error })
	tr.say("from %s %s, NoBody %v, Writer %v, half-closer %v, TLS %v", response.Request.Method, response.Request.URL, response.Body == http.NoBody,
		writer, half, response.TLS != nil)
	if response.StatusCode == http.StatusSwitchingProtocols {
		return
	}
	tr.body(response)
}

func (tr *transcript) body(response *http.Response) {
	text, err := io.ReadAll(response.Body)
	tr.say("body %d %x, error %v", len(text), sha256.Sum256(text), err)
	tr.header("trailer", response.Trailer)
	_, again := response.Body.Read(make([]byte, 1))
	tr.say("read again %v, close %v", again, response.Body.Close())
	_, again = response.Body.Read(make([]byte, 1))
	tr.say("read after close %v, close again %v", again, response.Body.Close())
}
