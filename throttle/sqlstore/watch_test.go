package sqlstore

import (
	"context"
	"errors"
	"testing"
)

func TestWatchNeedsBoth(t *testing.T) {
	b, err := NewBreaker(brokenDB(t, errBroken), SQLite, BreakerConfig{Name: "b"})
	if err != nil {
		t.Fatal(err)
	}
	listen := func(_ context.Context, changed func()) error { changed(); return errBroken }
	if _, err := Watch(nil, listen); err == nil {
		t.Error("no store: got no error")
	}
	if _, err := Watch(b, nil); err == nil {
		t.Error("no func: got no error")
	}
	w, err := Watch(b, listen)
	if err != nil {
		t.Fatal(err)
	}
	heard := 0
	if err := w.Watch(context.Background(), func() { heard++ }); !errors.Is(err, errBroken) || heard != 1 {
		t.Errorf("got %v, heard %d want the func's error, 1", err, heard)
	}
}
