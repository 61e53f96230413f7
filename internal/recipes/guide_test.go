package recipes

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/breaker"
)

// Our side of docs/coming-from.md and docs/coming-from-frameworks.md, and the tests that run it. The
// side of the peers is in internal/benchmarks.

var (
	errFull     = errors.New("no room")
	errNotFound = errors.New("not found")
)

// eachErrorCounts is a throttle that counts errors as most breakers do.
func eachErrorCounts() *throttle.Throttle {
	th := throttle.Must(throttle.New(throttle.Config{
		Name: "answers",
		Classify: throttle.First(
			throttle.IgnoreIf(func(err error) bool {
				return errors.Is(err, context.Canceled) || errors.Is(err, throttle.ErrShed)
			}),
			throttle.AcceptIf(func(err error) bool { return errors.Is(err, errNotFound) }), // the backend works
			throttle.RejectIf(func(error) bool { return true }),                            // any other error
		),
	}))
	return th
}

// likeGoZero has the settings that come nearest to go-zero's.
func likeGoZero(ctx context.Context, ask func(context.Context) (string, error)) (string, error) {
	th := throttle.Must(throttle.New(throttle.Config{
		Name:  "answers",
		Ratio: 1.5, Window: 10 * time.Second, // go-zero's; the defaults are 2 and 10 s
		Classify: throttle.OverloadIf(func(err error) bool { return errors.Is(err, errFull) }),
	}))
	answer, err := throttle.Do(ctx, th, throttle.Medium, ask)
	if errors.Is(err, throttle.ErrShed) {
		return "", err // it was not sent
	}
	return answer, err
}

// likeAegis is the two-phase form, with the settings that come nearest to the sre breaker's.
func likeAegis(ctx context.Context, ask func(context.Context) (string, error)) (string, error) {
	th := throttle.Must(throttle.New(throttle.Config{
		Name:  "answers",
		Ratio: 1 / 0.6, Window: 3 * time.Second, // aegis's; the defaults are 2 and 10 s
	}))
	call, err := th.Admit(ctx, throttle.Medium)
	if err != nil {
		return "", err // shed: it was not sent, and is counted
	}
	answer, err := ask(call.Context())
	if errors.Is(err, errFull) {
		call.Finish(throttle.Rejected)
	} else {
		call.Done(err) // the classifier decides
	}
	return answer, err
}

// likeHystrix has the rules of hystrix-go's defaults.
func likeHystrix(ctx context.Context, charge func(context.Context, int) (string, error)) (string, error) {
	m := breaker.Must(breaker.New(breaker.Config{
		Name: "charges", SampleRate: time.Second,
		ObservabilityWindow: 10 * time.Second, MinimumRequestCount: 20,
		FailureThreshold: 50, BreakerTimeout: 5 * time.Second,
	}))

	stripe := m.Circuit(breaker.Key{ID: "stripe"})
	receipt, err := breaker.Do(ctx, stripe, func(ctx context.Context) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, time.Second) // a circuit has no timeout
		defer cancel()
		return charge(ctx, 100)
	})
	return receipt, err
}

// failing sends 500 calls that all return err, and returns what the throttle counted.
func failing(th *throttle.Throttle, err error) counts {
	for range 500 {
		_ = th.Do(context.Background(), throttle.Medium, func(context.Context) error { return err })
	}
	return countsOf(th)
}

// The figures are those of both pages.
func TestAnOrdinaryErrorIsAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // so that no call leaves the window
		plain := throttle.Config{Name: "answers"}
		if c := failing(throttle.Must(throttle.New(plain)), errFull); c != (counts{accepted: 500}) {
			t.Errorf("an ordinary error: got %+v want 500 accepted", c)
		}
		named := plain
		named.Classify = throttle.OverloadIf(func(err error) bool { return errors.Is(err, errFull) })
		for name, c := range map[string]counts{
			"marked":              failing(throttle.Must(throttle.New(plain)), throttle.MarkRejected(errFull)),
			"marked as full":      failing(throttle.Must(throttle.New(plain)), throttle.MarkOverloaded(errFull)),
			"named by Classify":   failing(throttle.Must(throttle.New(named)), errFull),
			"each error rejected": failing(eachErrorCounts(), errFull),
		} {
			if c.shed < 400 || c.shed > 495 || c.rejected+c.shed != 500 { // the draws are random
				t.Errorf("%s: got %+v want about 450 of 500 shed", name, c)
			}
		}
	})
}

func TestEachErrorCounts(t *testing.T) {
	for want, err := range map[counts]error{
		{accepted: 500}: errNotFound,
		{ignored: 500}:  context.Canceled,
	} {
		if got := failing(eachErrorCounts(), err); got != want {
			t.Errorf("%v: got %+v want %+v", err, got, want)
		}
	}
}

func TestFromPeersAnAnswerOrAnError(t *testing.T) {
	for name, through := range map[string]func(context.Context, func(context.Context) (string, error)) (string, error){
		"go-zero": likeGoZero,
		"aegis":   likeAegis,
		"hystrix": func(ctx context.Context, ask func(context.Context) (string, error)) (string, error) {
			return likeHystrix(ctx, func(ctx context.Context, _ int) (string, error) { return ask(ctx) })
		},
	} {
		for want, answer := range map[string]error{"yes": nil, "": errFull} {
			got, err := through(t.Context(), func(context.Context) (string, error) { return want, answer })
			if got != want || !errors.Is(err, answer) {
				t.Errorf("%s: got %q, error %v want %q, error %v", name, got, err, want, answer)
			}
		}
	}
}

func TestFromHystrixATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, err := likeHystrix(t.Context(), func(ctx context.Context, _ int) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v want DeadlineExceeded", err)
		}
	})
}
