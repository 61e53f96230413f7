package promise

import (
	"strings"
	"testing"
	"time"
)

func TestOnlyABrokenPromiseIsNotKept(t *testing.T) {
	var p Promises
	for _, tt := range []struct {
		add  func()
		want Verdict
		kept bool
	}{
		{func() { p.Timed("a", time.Second, time.Second) }, Kept, true},
		{func() { p.Add("b", "1", "1", Judge(true)) }, Kept, true},
		{func() { p.Timed("c", time.Second, time.Second+1) }, Late, true},
		{func() { p.Add("d", "0", "1", JudgeLeniently(false, true)) }, Missed, true},
		{func() { p.Add("e", "0", "0", JudgeLeniently(true, false)) }, Kept, true},
		{func() { p.Add("f", "0", "0", JudgeLeniently(true, true)) }, Kept, true},
		{func() { p.Add("g", "0", "1", JudgeLeniently(false, false)) }, Broken, false},
	} {
		tt.add()
		if got := p[len(p)-1]; got.Verdict != tt.want || p.Kept() != tt.kept {
			t.Errorf("%v: got %s, all kept %v want %s and %v", got, got.Verdict, p.Kept(), tt.want, tt.kept)
		}
	}
}

func TestTableHasALineForEach(t *testing.T) {
	p := Promises{{"calls refused", "0", "3", Broken}, {"back", "within 1s", "500ms", Kept}}
	var text strings.Builder
	if err := p.Write(&text); err != nil {
		t.Fatal(err)
	}
	want := "  promise        promised   measured  \n" +
		"  calls refused  0          3         BROKEN\n" +
		"  back           within 1s  500ms     kept\n"
	if got := text.String(); got != want {
		t.Errorf("table: got\n%s\nwant\n%s", got, want)
	}
}
