package redisstore

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle/bucket"
	bucketstore "github.com/spillway-go/spillway/throttle/bucket/store"
)

// evil is what a key may try in a script, in the protocol, in a cluster and in a log.
const evil = "'; redis.call('FLUSHALL') --]]\r\nFLUSHALL\r\n*1\r\n{owned}\x00\xff$:\n"

// TestScriptsTouchOnlyTheirKeys reads the scripts: each command is one of a few, on a key that the client has named, and nothing that is
// stored or sent is ever run or unpacked.
func TestScriptsTouchOnlyTheirKeys(t *testing.T) {
	allowed := []string{
		"GET,KEYS[1]", "SET,KEYS[1]", "DEL,KEYS[1]", "HGET,KEYS[1]", "HMGET,KEYS[1]", "HSET,KEYS[1]", "HDEL,KEYS[1]", "EXISTS,KEYS[1]",
		"TIME,", "GET,key", "SET,key", "PUBLISH,ARGV[4]", // of breaker_probe.lua, where key is one of KEYS, and the channel of breaker_apply.lua
	}
	command := regexp.MustCompile(`redis\.p?call\('(\w+)'(?:, ([\w\[\]]+))?`)
	files, err := lua.ReadDir(".")
	if err != nil || len(files) < 10 {
		t.Fatalf("got %d scripts, %v want ten", len(files), err)
	}
	for _, file := range files {
		name := file.Name()
		text, err := lua.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		script := string(text)
		found := command.FindAllStringSubmatch(script, -1)
		if len(found) == 0 || len(found) != strings.Count(script, "redis.") {
			t.Errorf("%s: got %d commands of %d that can be read", name, len(found), strings.Count(script, "redis."))
		}
		for _, c := range found {
			if call := c[1] + "," + c[2]; !slices.Contains(allowed, call) {
				t.Errorf("%s: got the command %s want one of %v", name, call, allowed)
			}
		}
		for _, word := range []string{"loadstring", "load(", "dofile", "cjson", "cmsgpack", "struct.", "bit.", "setfenv", "getfenv", "_G"} {
			if strings.Contains(script, word) {
				t.Errorf("%s: got %s in it", name, word)
			}
		}
	}
}

// TestKeysAreArguments sends keys that would like to be something else. The script is the same for all, and its key has
// neither braces nor anything that ends a line.
func TestKeysAreArguments(t *testing.T) {
	s := says([]any{"1", "", ""})
	b := newBucket(t, s)
	_, _ = b.Take(t.Context(), bucketstore.Request{Key: evil, Limit: bucket.PerSecond(1), Min: 1, Max: 1})
	_ = b.Return(t.Context(), evil, bucket.PerSecond(1), 1)
	_ = b.Reset(t.Context(), evil)
	_, _ = b.Take(t.Context(), bucketstore.Request{Key: strings.Repeat(evil, 1000), Limit: bucket.PerSecond(1), Min: 1, Max: 1})
	if len(s.asked) < 4 {
		t.Fatalf("got %d commands want four", len(s.asked))
	}
	for _, args := range s.asked {
		text := fmt.Sprint(args...)
		if strings.ContainsAny(text, "{}\r\n\x00'") || strings.Contains(text, "\xff") || len(text) > 1000 {
			t.Errorf("got the command %.1000q", text)
		}
	}
}
