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

// mediaTypeOf returns the media type of the request's body, without its parameters.
func mediaTypeOf(r *http.Request) string {
	mediaType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return mediaType
}

// readJSON decodes one value. It returns an error if the body goes on after that value.
func readJSON(from *json.Decoder, to any) error {
	if err := from.Decode(to); err != nil {
		return fmt.Errorf("storefront: the body is not valid JSON: %w", err)
	}
	if _, err := from.Token(); !errors.Is(err, io.EOF) {
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
