package main

import (
	"encoding/json"
	"errors"
	"net/http"
)

// The reasons to refuse what was sent that have a status of their own.
var (
	errMediaType = errors.New("storefront: that media type is not read here")
	errTerminal  = errors.New("storefront: the standard output takes nothing more")
)

// answer answers in JSON.
func answer(w http.ResponseWriter, status int, with any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(with) // whoever asked may be gone
}

// refuse answers with what is wrong.
func refuse(w http.ResponseWriter, err error) {
	answer(w, statusOf(err), map[string]string{"error": err.Error()})
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
