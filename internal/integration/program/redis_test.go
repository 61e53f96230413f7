package program

import (
	"strconv"
	"testing"
	"time"
)

// TestRedis_FreezeKillRestart does to a Redis what the tests of stores do.
func TestRedis_FreezeKillRestart(t *testing.T) {
	r := Redis(t)
	r.Do(t, "SET", "key", "value")
	r.Freeze(t)
	if _, err := r.send(t, answerTimeout, "PING"); err == nil {
		t.Error("frozen: got an answer want none")
	}
	r.Thaw(t)
	if got := r.Do(t, "GET", "key"); got != "value" {
		t.Errorf("thawed: got %v want value", got)
	}
	r.Kill(t)
	if _, err := r.send(t, answerTimeout, "PING"); err == nil {
		t.Error("killed: got an answer want none")
	}
	r.Restart(t)
	if got := r.Do(t, "EXISTS", "key"); got != int64(0) {
		t.Errorf("started again: got %v keys want 0", got)
	}
	r.Freeze(t) // the end of the test must thaw it
}

// TestRedisSentinel kills a primary whose replica has another clock.
func TestRedisSentinel(t *testing.T) {
	primary := Redis(t)
	replica := RedisReplica(t, primary)
	replica.Kill(t)
	replica.SetClock(t, -time.Hour)
	replica.Restart(t)
	replica.AwaitReplicated(t)
	RedisSentinel(t, "main", primary)
	if late := seconds(t, primary) - seconds(t, replica); late < 3590 || late > 3610 {
		t.Errorf("the replica's clock is %d s behind want 3600", late)
	}
	primary.Do(t, "SET", "key", "value")
	primary.Do(t, "WAIT", 1, 0)
	primary.Kill(t)
	replica.awaitAnswer(t, "the replica is promoted", "role:master\r", "INFO", "replication")
	if got := replica.Do(t, "GET", "key"); got != "value" {
		t.Errorf("promoted: got %v want value", got)
	}
}

func seconds(t *testing.T, r *RedisServer) int64 {
	t.Helper()
	text := r.Do(t, "TIME").([]any)[0].(string)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
