package throttle

import (
	"fmt"
	"sync"
	"testing"
)

// TestAMemberIsFoundWhileItsListChanges: others come and go before and behind it in the one list.
func TestAMemberIsFoundWhileItsListChanges(t *testing.T) {
	table := newMemberTable(1)
	behind, kept := &member{key: "behind"}, &member{key: "kept"}
	table.insert(behind)
	table.insert(kept)
	stop := make(chan struct{})
	var readers sync.WaitGroup
	defer readers.Wait()
	defer close(stop)
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if m := table.find("kept"); m != kept {
					t.Errorf("got member %v want the one that was never removed", m)
					return
				}
				if m := table.find("none"); m != nil {
					t.Errorf("got member %v for a key without one, want nil", m)
					return
				}
			}
		})
	}
	table.remove(behind)
	for i := range 2000 {
		first, second := &member{key: fmt.Sprint(i)}, &member{key: fmt.Sprint(i, "again")}
		table.insert(first)
		table.insert(second)
		table.remove(first)
		if m := first.next.Load(); m != kept {
			t.Fatalf("behind a removed member: got %v want the one that was behind it, for those that read it now", m)
		}
		table.remove(second)
	}
	if m := table.find("behind"); m != nil {
		t.Errorf("got member %v after it was removed, want nil", m)
	}
}

func TestATableHasABucketForEachOfItsMembers(t *testing.T) {
	for members, want := range map[int]int{1: 1, 2: 2, 3: 4, 1000: 1024, 1024: 1024, maxMemberBuckets + 1: maxMemberBuckets, 1 << 62: maxMemberBuckets} {
		if got := len(newMemberTable(members).buckets); got != want {
			t.Errorf("buckets for %d members: got %d want %d", members, got, want)
		}
	}
}
