package main

import (
	"testing"
	"time"
)

func TestStretch(t *testing.T) {
	was := stretch{took: 2 * time.Second, calls: calls{made: 75, refused: 25}}
	if got := was.perSecond(); got != 37.5 {
		t.Errorf("per second: got %v want 37.5", got)
	}
	if got := was.ofQuota(50); got != 0.75 {
		t.Errorf("of the quota: got %v want 0.75", got)
	}
	if got := was.refused(); got != 1./3 {
		t.Errorf("refused: got %v want a third", got)
	}
	if got := (stretch{}).refused(); got != 0 {
		t.Errorf("refused of nothing: got %v want 0", got)
	}
	if got := was.most(12, 50); got != 112 {
		t.Errorf("most: got %d want 112", got)
	}
	if got := was.most(125, 500); got != 1125 {
		t.Errorf("most with a tick: got %d want 1125", got)
	}
}
