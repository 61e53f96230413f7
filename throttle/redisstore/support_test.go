package redisstore

import (
	"context"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/spillway-go/spillway/throttle"
)

// newBucket returns a store called "b" with a fake server.
func newBucket(t *testing.T, s *server) *Bucket {
	t.Helper()
	return throttle.Must(NewBucket(newClient(t, s), BucketConfig{Name: "b"}))
}

// deadAddress is an address without a server.
const deadAddress = "127.0.0.1:1"

// newBreaker returns a store called "b" with a fake server. Commands that the fake does not handle fail.
func newBreaker(t *testing.T, s *server) *Breaker {
	t.Helper()
	return throttle.Must(NewBreaker(newClient(t, s), BreakerConfig{Name: "b"}))
}

// newClient returns a client of a fake server.
func newClient(t *testing.T, s *server) redis.UniversalClient {
	t.Helper()
	client := redis.NewUniversalClient(Options(deadAddress))
	t.Cleanup(func() { _ = client.Close() })
	client.AddHook(s)
	return client
}

// server is a fake server without a network.
type server struct {
	answer func(cmd redis.Cmder) error // sets the value of a command, or returns an error
	asked  [][]any
	pipes  []int // commands of each pipeline
}

func (s *server) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *server) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, cmd redis.Cmder) error { return s.process(cmd) }
}

func (s *server) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(_ context.Context, cmds []redis.Cmder) error {
		s.pipes = append(s.pipes, len(cmds))
		var first error
		for _, cmd := range cmds {
			if err := s.process(cmd); err != nil && first == nil {
				first = err
			}
		}
		return first
	}
}

func (s *server) process(cmd redis.Cmder) error {
	s.asked = append(s.asked, cmd.Args())
	err := s.answer(cmd)
	cmd.SetErr(err)
	return err
}

// says returns a server with the same reply to every script.
func says(answer any) *server {
	return &server{answer: func(cmd redis.Cmder) error {
		if c, ok := cmd.(*redis.Cmd); ok {
			c.SetVal(answer)
		}
		return nil
	}}
}

// equals checks a value.
func equals[T comparable](t *testing.T, got, want T, what string, args ...any) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %+v, want %+v", fmt.Sprintf(what, args...), got, want)
	}
}

// TestMain runs the tests, and then looks for goroutines that they left behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
