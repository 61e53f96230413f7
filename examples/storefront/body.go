package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
)

// mediaTypeOf returns what the request says its body is, without the parameters.
func mediaTypeOf(r *http.Request) string {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return kind
}

// readJSON reads one value, after which the body has to end.
func readJSON(from *json.Decoder, to any) error {
	if err := from.Decode(to); err != nil {
		return fmt.Errorf("storefront: no JSON that can be understood: %w", err)
	}
	if _, err := from.Token(); !errors.Is(err, io.EOF) {
		return errors.New("storefront: something stands after the JSON object")
	}
	return nil
}
