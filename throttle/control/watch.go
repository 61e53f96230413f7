package control

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/spillway-go/spillway/throttle"
)

// pollInterval is the time between two readings of the file.
const pollInterval = time.Second

// Watch applies the document in a file now, and each time that it changes, until ctx ends or the
// Control is closed. Then what is in force stays. It has read the file once when it returns. It
// returns an error only if the path is empty, a file is watched already, or the Control is closed.
//
// A file that is missing, half written, longer than [MaxDocument] or wrong changes nothing: what
// was in force stays. That is reported by Hooks.Failed and [Stats], once for each reason, and is
// tried again each second. So a document with a name that does not exist yet is applied when it
// does.
//
// Watch reads the file each second. That works on every volume, and also if the file or a folder
// above it is a symbolic link that changes, as in a ConfigMap of Kubernetes. Replace the file by
// renaming another one, so that it is never half written.
func (c *Control) Watch(ctx context.Context, path string) error {
	return c.watch(ctx, &watcher{path: path, from: "file " + path, every: pollInterval, read: func(context.Context) ([]byte, time.Time, error) {
		return readFile(path)
	}})
}

// watch applies a document now, and goes on.
func (c *Control) watch(ctx context.Context, w *watcher) error {
	if !c.valid() {
		return errNil
	}
	if ctx == nil {
		ctx = context.Background()
	}
	if err := c.startWatching(w.path); err != nil {
		return err
	}
	w.control = c
	w.look(ctx)
	go w.run(ctx)
	return nil
}

// startWatching records that a file is watched.
func (c *Control) startWatching(path string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case path == "":
		return errPath
	case c.closed:
		return errClosed
	case c.file.Path != "":
		return errWatches
	}
	c.file = FileStatus{Path: path}
	return nil
}

// setFile records what became of the file. It reports whether the reason of a refusal is a new one.
func (c *Control) setFile(f FileStatus, reason string) (fresh bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.Error != "" && reason == c.reason {
		return false
	}
	c.file, c.reason = f, reason
	return f.Error != ""
}

// watcher reads one document again and again.
type watcher struct {
	control *Control
	path    string
	from    string // the path with a word, for errors
	every   time.Duration
	read    func(context.Context) (data []byte, written time.Time, err error)
	applied []byte    // content of the last document that was applied; nil before
	version uint32    // of it
	since   time.Time // when it was applied
}

// run reads the document at each interval.
func (w *watcher) run(ctx context.Context) {
	ticker := time.NewTicker(w.every)
	defer ticker.Stop()
	defer w.control.setFile(FileStatus{}, "")
	for {
		select {
		case <-ticker.C:
			w.look(ctx)
		case <-ctx.Done():
			return
		case <-w.control.done:
			return
		}
	}
}

// look reads the document, and applies it if it has changed or was refused.
func (w *watcher) look(ctx context.Context) {
	data, written, err := w.read(ctx)
	reason := withoutNumbers(err)
	unchanged := err == nil && w.applied != nil && bytes.Equal(data, w.applied)
	if unchanged && w.control.fileStatus().Error == "" {
		return
	}
	if err == nil && !unchanged {
		if err = w.apply(ctx, data, written); err != nil {
			reason = err.Error()
		}
	}
	if errors.Is(err, errClosed) || ctx.Err() != nil {
		return
	}
	f := FileStatus{Path: w.path, Version: w.version, Since: w.since}
	if err != nil {
		f.Error, f.Since = err.Error(), presentTime()
	}
	if w.control.setFile(f, reason) {
		w.control.fail(ctx, throttle.SourceFile, err)
	}
}

// apply applies a document. If the process has applied one before, this one is a change of now: another
// file may have replaced the last.
func (w *watcher) apply(ctx context.Context, data []byte, written time.Time) error {
	if w.applied != nil {
		written = time.Time{}
	}
	d, err := ParseDocument(data)
	if err == nil {
		_, err = w.control.replace(ctx, throttle.SourceFile, d, written)
	}
	if err != nil {
		return fmt.Errorf("control: %s: %w", w.from, err)
	}
	w.applied, w.version, w.since = bytes.Clone(data), versionOf(data), presentTime() // read may use its bytes again
	return nil
}

// withoutNumbers returns the text of a failed read without its digits. Ports, streams and the present time would make each
// failure a new one.
func withoutNumbers(err error) string {
	if err == nil {
		return ""
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, err.Error())
}

// presentTime returns the time for a FileStatus.
func presentTime() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// versionOf returns a number that differs for documents that differ. It is never 0.
func versionOf(data []byte) uint32 {
	sum := sha256.Sum256(data)
	return max(1, binary.BigEndian.Uint32(sum[:]))
}

// readFile returns the content of a file, and when it was written. It does not open other things, such
// as pipes, which may block.
func readFile(path string) (data []byte, written time.Time, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, written, fmt.Errorf("control: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, written, fmt.Errorf("control: %s is not a regular file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, written, fmt.Errorf("control: %w", err)
	}
	defer file.Close()
	data, err = io.ReadAll(io.LimitReader(file, MaxDocument+1))
	if err != nil {
		return nil, written, fmt.Errorf("control: %w", err)
	}
	if len(data) > MaxDocument {
		return nil, written, fmt.Errorf("control: %s has more than %d bytes", path, MaxDocument)
	}
	return data, info.ModTime(), nil
}
