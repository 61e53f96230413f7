package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	"github.com/spillway-go/spillway/examples/internal/page"
)

// Errors of requests that have a status code of their own. Every other error is a 400.
var (
	errMediaType = errors.New("storefront: unsupported media type")
	errTerminal  = errors.New("storefront: cannot write to the standard output")
)

// readJSON reads one value. It returns an error if the body is something else, or goes on after that value.
func readJSON(r *http.Request, to any, options ...func(*json.Decoder)) error {
	if mediaType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); mediaType != "application/json" {
		return fmt.Errorf("%w: send application/json", errMediaType)
	}
	decoder := json.NewDecoder(r.Body)
	for _, set := range options {
		set(decoder)
	}
	if err := decoder.Decode(to); err != nil {
		return fmt.Errorf("storefront: the body is not valid JSON: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("storefront: the body has more data after the JSON object")
	}
	return nil
}

// writeError answers with the text of err and the status code that belongs to it.
func writeError(w http.ResponseWriter, err error) {
	page.WriteJSON(w, statusOf(err), map[string]string{"error": err.Error()})
}

func statusOf(err error) int {
	tooLarge := new(http.MaxBytesError)
	switch {
	case errors.As(err, &tooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, errMediaType):
		return http.StatusUnsupportedMediaType
	case errors.Is(err, errTerminal):
		return http.StatusServiceUnavailable
	}
	return http.StatusBadRequest
}
