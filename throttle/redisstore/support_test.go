package redisstore

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
)

// newBucket is a store called "b" whose server answers as it is told.
func newBucket(t *testing.T, s *server) *Bucket {
	t.Helper()
	client := redis.NewUniversalClient(Options(deadAddress))
	t.Cleanup(func() { _ = client.Close() })
	client.AddHook(s)
	b, err := NewBucket(client, BucketConfig{Name: "b"})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// deadAddress is an address at which nobody listens.
const deadAddress = "127.0.0.1:1"

// newBreaker is a breaker called "b" whose server answers as it is told, and is not there for what it was not told.
func newBreaker(t *testing.T, s *server) *Breaker {
	t.Helper()
	client := redis.NewUniversalClient(Options(deadAddress))
	t.Cleanup(func() { _ = client.Close() })
	client.AddHook(s)
	b, err := NewBreaker(client, BreakerConfig{Name: "b"})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// server answers without a network: what is not about Redis itself needs none.
type server struct {
	answer func(cmd redis.Cmder) error // sets the value of a command, or returns an error
	asked  [][]any
}

func (s *server) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *server) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, cmd redis.Cmder) error { return s.process(cmd) }
}

func (s *server) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(_ context.Context, cmds []redis.Cmder) error {
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

// says is a server that gives one answer to all scripts.
func says(answer any) *server {
	return &server{answer: func(cmd redis.Cmder) error {
		if c, ok := cmd.(*redis.Cmd); ok {
			c.SetVal(answer)
		}
		return nil
	}}
}
