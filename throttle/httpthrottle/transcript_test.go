package httpthrottle_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
)

// transcript is all that a client gets to know of an exchange, but for the time and the numbers of ports and streams.
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

// response says all about a response, and reads it.
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

// body reads a body to its end.
func (tr *transcript) body(response *http.Response) {
	text, err := io.ReadAll(response.Body)
	tr.say("body %d %x, error %v", len(text), sha256.Sum256(text), err)
	tr.header("trailer", response.Trailer)
	_, again := response.Body.Read(make([]byte, 1))
	tr.say("read again %v, close %v", again, response.Body.Close())
	_, again = response.Body.Read(make([]byte, 1))
	tr.say("read after close %v, close again %v", again, response.Body.Close())
}
