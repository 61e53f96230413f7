package redisstore

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// TestABucketIsPromptIfItsClientHeedsContexts which a client does not by default.
func TestABucketIsPromptIfItsClientHeedsContexts(t *testing.T) {
	for name, tt := range map[string]struct {
		client redis.UniversalClient
		want   bool
	}{
		"ours":          {redis.NewUniversalClient(Options("localhost:1")), true},
		"ours, cluster": {redis.NewUniversalClient(Options("localhost:1", "localhost:2")), true},
		"by default":    {redis.NewClient(&redis.Options{Addr: "localhost:1"}), false},
		"cluster":       {redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"localhost:1"}}), false},
	} {
		defer tt.client.Close()
		b, err := NewBucket(tt.client, BucketConfig{Name: "x"})
		if err != nil {
			t.Fatal(err)
		}
		var store bucket.Store = b
		if p, ok := store.(bucket.Prompt); !ok || p.Prompt() != tt.want {
			t.Errorf("%s: prompt %t, %t, want %t", name, ok, b.Prompt(), tt.want)
		}
	}
}
