package lru

import (
	"fmt"
	"sync"
	"testing"
)

// TestTable_findWhileTheListChanges adds and removes others before and behind an entry in one list.
func TestTable_findWhileTheListChanges(t *testing.T) {
	table := newTable[int](1)
	behind, kept := &entry[int]{key: "behind"}, &entry[int]{key: "kept"}
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
				if e := table.find("kept"); e != kept {
					t.Errorf("got entry %v want the one that was never removed", e)
					return
				}
				if e := table.find("none"); e != nil {
					t.Errorf("got entry %v for a key without one, want nil", e)
					return
				}
			}
		})
	}
	table.remove(behind)
	for i := range 2000 {
		first, second := &entry[int]{key: fmt.Sprint(i)}, &entry[int]{key: fmt.Sprint(i, "again")}
		table.insert(first)
		table.insert(second)
		table.remove(first)
		if e := first.next.Load(); e != kept {
			t.Fatalf("behind a removed entry: got %v want the one that was behind it, for those that read it now", e)
		}
		table.remove(second)
	}
	if e := table.find("behind"); e != nil {
		t.Errorf("got entry %v after it was removed, want nil", e)
	}
}
