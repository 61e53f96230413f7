package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/spillway-go/spillway/examples/internal/program"
	"github.com/spillway-go/spillway/examples/internal/watch"
	"github.com/spillway-go/spillway/examples/simulate/plot"
)

// command is the program with everything around it.
type command struct {
	settings       settings
	stdout, stderr io.Writer
	folder         string // for the plot if no flag says where, in a new folder in it; the system's if empty
}

// run tells the story and returns the exit code.
func (c command) run(ctx context.Context) int {
	kept, err := c.play(ctx)
	return program.Conclude(c.stderr, "batch", kept, err)
}

// play builds the world, tells the story, draws it, and takes everything down again. It reports whether all promises were kept.
func (c command) play(ctx context.Context) (kept bool, err error) {
	seen, err := watch.Open(c.settings.metrics)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, seen.Close()) }()
	s, err := newStory(c.settings, c.stdout, seen)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	s.tell(ctx, seen.URL())
	return c.settings.repeat || s.promises.Kept(), errors.Join(c.draw(s), s.out.Err())
}

// draw draws what there is to be seen of the backoff.
func (c command) draw(s *story) (err error) {
	if len(s.tape.calls) == 0 {
		return nil
	}
	path := c.settings.plot
	if path == "" {
		folder, err := os.MkdirTemp(c.folder, "batch-")
		if err != nil {
			return err
		}
		path = filepath.Join(folder, "batch.svg")
	}
	if err := plot.Write(path, s.figure()); err != nil {
		return err
	}
	s.out.Printf("\nplot: %s\n", path)
	return nil
}
