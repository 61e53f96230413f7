package dependency_test

import (
	"context"
	"errors"
	"testing"

	"github.com/spillway-go/spillway/throttle/internal/dependency"
)

type server struct{ got []error }

func (s *server) DependencyFailed(err error) { s.got = append(s.got, err) }

func TestReport(t *testing.T) {
	err := errors.New("unavailable")
	dependency.Report(t.Context(), err) // to no server
	outer, inner := &server{}, &server{}
	ctx := context.WithValue(t.Context(), dependency.Key{}, outer)
	dependency.Report(context.WithValue(ctx, dependency.Key{}, inner), err)
	if len(inner.got) != 1 || !errors.Is(inner.got[0], err) {
		t.Errorf("inner server: got %v want one report of %v", inner.got, err)
	}
	if len(outer.got) != 0 {
		t.Errorf("outer server: got %v want no report: the inner server decides", outer.got)
	}
}
