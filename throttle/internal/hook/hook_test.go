package hook

import (
	"context"
	"testing"
)

func TestJoinCallsInOrderAndKeepsNil(t *testing.T) {
	calls := ""
	say := func(word string) func(string) { return func(s string) { calls += word + s } }
	say2 := func(word string) func(string, int) { return func(s string, _ int) { calls += word + s } }
	Join1(Join1(nil, say("a")), Join1(say("b"), nil))("1")
	Join2(Join2(nil, say2("c")), Join2(say2("d"), nil))("2", 0)
	if calls != "a1b1c2d2" {
		t.Errorf("calls %q", calls)
	}
	if Join1[int](nil, nil) != nil || Join2[int, int](nil, nil) != nil || JoinContext[int](nil, nil) != nil || JoinReverse[int](nil, nil) != nil {
		t.Error("two nil functions are joined to one that is not nil")
	}
}

type key struct{}

func TestJoinContextPassesTheContextOn(t *testing.T) {
	add := func(word string) func(context.Context, int) context.Context {
		return func(ctx context.Context, _ int) context.Context {
			before, _ := ctx.Value(key{}).(string)
			return context.WithValue(ctx, key{}, before+word)
		}
	}
	none := func(context.Context, int) context.Context { return nil }
	joined := JoinContext(JoinContext(add("a"), none), add("b"))
	if got := joined(t.Context(), 0).Value(key{}); got != "ab" {
		t.Errorf("context has %v", got)
	}
}

func TestJoinReverseCallsTheFirstEvenIfTheSecondPanics(t *testing.T) {
	calls := ""
	first := func(context.Context, int) { calls += "first" }
	second := func(context.Context, int) { calls += "second "; panic("broken") }
	defer func() {
		if recover() == nil || calls != "second first" {
			t.Errorf("calls %q", calls)
		}
	}()
	JoinReverse(first, second)(t.Context(), 0)
}

func TestDefault(t *testing.T) {
	type hooks struct{ called func() string }
	var d Default[hooks]
	if d.Get().called != nil || d.Or(hooks{}).called != nil {
		t.Error("a zero Default has hooks")
	}
	d.Set(hooks{func() string { return "default" }})
	for want, got := range map[string]hooks{"default": d.Or(hooks{}), "own": d.Or(hooks{func() string { return "own" }})} {
		if got.called() != want {
			t.Errorf("got the %s hooks want the %s hooks", got.called(), want)
		}
	}
}
