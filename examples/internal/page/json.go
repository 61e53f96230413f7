package page

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
)

// errMediaType is the error of a request whose body is something else than JSON.
var errMediaType = errors.New("unsupported media type: send application/json")

// ReadJSON reads one value from a body of at most limit bytes. It returns an error if the body is something
// else, or goes on after that value.
func ReadJSON(w http.ResponseWriter, r *http.Request, limit int64, to any, options ...func(*json.Decoder)) error {
	if mediaType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); mediaType != "application/json" {
		return errMediaType
	}
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, limit))
	for _, set := range options {
		set(decoder)
	}
	if err := decoder.Decode(to); err != nil {
		return fmt.Errorf("cannot read the body: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("the body has more data after the JSON object")
	}
	return nil
}

// WriteJSON answers with a value in JSON.
func WriteJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // fails if the client has disconnected
}

// WriteError answers with the text of an error, as 400 or with the status of an error of ReadJSON.
func WriteError(w http.ResponseWriter, err error) {
	status, tooLarge := http.StatusBadRequest, new(http.MaxBytesError)
	switch {
	case errors.As(err, &tooLarge):
		status = http.StatusRequestEntityTooLarge
	case errors.Is(err, errMediaType):
		status = http.StatusUnsupportedMediaType
	}
	WriteJSON(w, status, map[string]string{"error": err.Error()})
}
