package main

import (
	"context"

	"github.com/spillway-go/spillway/throttle/backoff"
)

// backoffFree is the name of a call through a backoff that does not wait.
const backoffFree = "backoff, Wait and Done"

func backoffs() []*subject {
	free := backoff.Must(backoff.New(backoff.Config{Name: "bench"}))
	return []*subject{{name: backoffFree, pair: true, op: func() error { return waited(free) }}}
}

// waited makes a successful call that does not wait.
func waited(r *backoff.Responsive) error {
	p, err := r.Wait(context.Background())
	if err != nil {
		return err
	}
	err = noop(context.Background())
	p.Finish(backoff.Success)
	return err
}
