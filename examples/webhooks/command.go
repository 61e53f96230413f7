package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"github.com/spillway-go/spillway/examples/internal/program"
	"github.com/spillway-go/spillway/examples/webhooks/customer"
	"github.com/spillway-go/spillway/examples/webhooks/dispatch"
	"github.com/spillway-go/spillway/throttle/breaker"
)

// graceOfEnd is how long it may take to tidy up.
const graceOfEnd = 5 * time.Second

// command is the program with everything around it.
type command struct {
	settings       settings
	stdout, stderr io.Writer
	store          breaker.Store // instead of any other, for tests
}

// run tells the story and returns the exit code.
func (c command) run(ctx context.Context) int {
	kept, err := c.play(ctx)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return program.Done // Ctrl-C, before there was anything to tell
	}
	return program.Conclude(c.stderr, "webhooks", kept, err)
}

// play builds the world, tells the story, and takes everything down again. It reports whether all promises were kept.
func (c command) play(ctx context.Context) (kept bool, err error) {
	folder, err := os.MkdirTemp("", "webhooks-")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	seen, err := openTelemetry(c.settings.metrics)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, seen.Close()) }()
	if address := seen.URL(); address != "" {
		fmt.Fprintf(c.stdout, "metrics %s/metrics   circuits %s/debug/throttle\n", address, address)
	}
	storage, err := dispatch.NewStorage(ctx, dispatch.StorageConfig{
		Folder: folder, Postgres: c.settings.postgres, Redis: c.settings.redis, Store: c.store, Run: fmt.Sprintf("%08x", rand.Uint32()),
	})
	if err != nil {
		return false, err
	}
	defer func() {
		tidy, cancel := context.WithTimeout(context.WithoutCancel(ctx), graceOfEnd)
		defer cancel()
		err = errors.Join(err, storage.Remove(tidy))
	}()
	server, err := customer.Open(c.settings.endpoints, tenants)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	s := newStory(c.settings, c.stdout, server, storage, seen.hooks())
	err = s.tell(ctx)
	return c.settings.repeat || s.promises.Kept(), errors.Join(err, s.out.Err())
}
