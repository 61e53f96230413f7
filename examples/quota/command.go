package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/spillway-go/spillway/examples/internal/program"
)

// command is the program with everything around it.
type command struct {
	settings       settings
	stdout, stderr io.Writer
	folder         string // for temporary files, if not the system's
}

// run tells the story and returns the exit code.
func (c command) run(ctx context.Context) int {
	kept, err := c.play(ctx)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return program.Done // Ctrl-C, before there was anything to tell
	}
	return program.Conclude(c.stderr, "quota", kept, err)
}

// play builds the world, tells the story, and takes everything down again. It reports whether all promises were kept.
func (c command) play(ctx context.Context) (kept bool, err error) {
	folder, err := os.MkdirTemp(c.folder, "quota-")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	shared := place{Name: fmt.Sprintf("quota-%08x", rand.Uint32()), Redis: c.settings.redis}
	if shared.Redis == "" {
		shared.File = filepath.Join(folder, "quota.db")
	}
	store, err := shared.open()
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, store.close()) }()
	if err := store.create(ctx); err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, store.Reset(context.WithoutCancel(ctx), bucketKey)) }()
	p, err := openPartner(c.settings.quota)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	s := newStory(c.settings, c.stdout, c.stderr, p, shared, store)
	err = s.tell(ctx)
	return s.promises.Kept(), errors.Join(err, s.out.Err())
}
