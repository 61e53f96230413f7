package throttle_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle"
)

// every calls f with each field of Hooks that is a moment: the exported ones.
func every(f func(i int, field reflect.StructField)) {
	hooks := reflect.TypeFor[throttle.Hooks]()
	for i := range hooks.NumField() {
		if field := hooks.Field(i); field.IsExported() {
			f(i, field)
		}
	}
}

// note returns the hook of a field's type that notes that who was told, and returns what it got, if it has to return something.
func note(told *[]string, who string, field reflect.StructField) reflect.Value {
	return reflect.MakeFunc(field.Type, func(args []reflect.Value) []reflect.Value {
		*told = append(*told, who+" "+field.Name)
		return args[:field.Type.NumOut()] // a context goes in first and comes out
	})
}

// noteAll returns hooks that note every moment.
func noteAll(told *[]string, who string) throttle.Hooks {
	var hooks throttle.Hooks
	every(func(i int, field reflect.StructField) {
		reflect.ValueOf(&hooks).Elem().Field(i).Set(note(told, who, field))
	})
	return hooks
}

// ring calls one hook with empty arguments, but for the context.
func ring(hooks throttle.Hooks, i int) {
	hook := reflect.ValueOf(hooks).Field(i)
	args := make([]reflect.Value, hook.Type().NumIn())
	for n := range args {
		args[n] = reflect.Zero(hook.Type().In(n))
		if args[n].Type() == reflect.TypeFor[context.Context]() {
			args[n] = reflect.ValueOf(context.Background())
		}
	}
	hook.Call(args)
}

// TestJoinHooksForwardsEveryField fails when a moment is added to Hooks and forgotten in JoinHooks.
func TestJoinHooksForwardsEveryField(t *testing.T) {
	moments := 0
	every(func(i int, field reflect.StructField) {
		moments++
		t.Run(field.Name, func(t *testing.T) {
			if field.Type.Kind() != reflect.Func {
				t.Fatalf("kind of the field: got %v want func: teach this test and JoinHooks what to do with it", field.Type.Kind())
			}
			var told []string
			ring(throttle.JoinHooks(noteAll(&told, "first"), noteAll(&told, "second"), noteAll(&told, "third")), i)
			want := []string{"first " + field.Name, "second " + field.Name, "third " + field.Name}
			if field.Name == "Finished" {
				slices.Reverse(want)
			}
			if !slices.Equal(told, want) {
				t.Errorf("told: got %q want %q", told, want)
			}
		})
		t.Run(field.Name+" alone", func(t *testing.T) {
			var told []string
			var alone throttle.Hooks
			reflect.ValueOf(&alone).Elem().Field(i).Set(note(&told, "one", field))
			joined := throttle.JoinHooks(throttle.Hooks{}, alone, throttle.Hooks{})
			every(func(other int, f reflect.StructField) {
				equal(t, f.Name+" is nil", reflect.ValueOf(joined).Field(other).IsNil(), other != i)
			})
			if t.Failed() {
				return
			}
			ring(joined, i)
			if want := []string{"one " + field.Name}; !slices.Equal(told, want) {
				t.Errorf("told: got %q want %q", told, want)
			}
		})
	})
	if moments < 6 {
		t.Errorf("moments: got %d want at least the six of today", moments)
	}
}

func TestJoinHooksOfNothingListensToNothing(t *testing.T) {
	for name, joined := range map[string]throttle.Hooks{
		"none":        throttle.JoinHooks(),
		"one empty":   throttle.JoinHooks(throttle.Hooks{}),
		"two empties": throttle.JoinHooks(throttle.Hooks{}, throttle.Hooks{}),
	} {
		if !reflect.ValueOf(joined).IsZero() {
			t.Errorf("%s: got hooks that listen, want every field nil", name)
		}
	}
}

func TestJoinHooksOfOneIsThatOne(t *testing.T) {
	var told []string
	one := throttle.JoinHooks(noteAll(&told, "one"))
	var want []string
	every(func(i int, field reflect.StructField) {
		ring(one, i)
		want = append(want, "one "+field.Name)
	})
	if !slices.Equal(told, want) {
		t.Errorf("told: got %q want %q", told, want)
	}
}

// tracer returns hooks like those of a tracer: Started adds its name to the context's trail, everything else notes the trail.
func tracer(told *[]string, name string) throttle.Hooks {
	trail := func(ctx context.Context) string { s, _ := markOf(ctx).(string); return s }
	note := func(moment string, ctx context.Context) {
		*told = append(*told, strings.TrimSpace(fmt.Sprintf("%s %s: %s", name, moment, trail(ctx))))
	}
	return throttle.Hooks{
		Started: func(ctx context.Context, _ throttle.StartEvent) context.Context {
			note("started", ctx)
			return context.WithValue(ctx, markKey{}, trail(ctx)+name)
		},
		Finished: func(ctx context.Context, _ throttle.FinishEvent) { note("finished", ctx) },
		FellBack: func(ctx context.Context, _ throttle.FallbackEvent) { note("fell back", ctx) },
	}
}

// TestJoinedHooksThreadTheContext: each Started builds on the one before, and all later moments see what the last one made.
func TestJoinedHooksThreadTheContext(t *testing.T) {
	var told []string
	hooks := throttle.JoinHooks(tracer(&told, "a"), throttle.Hooks{}, tracer(&told, "b"), tracer(&told, "c"))
	th := build(t, throttle.Config{Hooks: hooks})
	_ = th.Do(t.Context(), throttle.High, func(ctx context.Context) error {
		equal(t, "trail that fn sees", markOf(ctx), any("abc"))
		return errPlain
	}, func(context.Context, error, bool) error { return nil })
	want := []string{
		"a started:", "b started: a", "c started: ab",
		"a fell back: abc", "b fell back: abc", "c fell back: abc",
		"c finished: abc", "b finished: abc", "a finished: abc",
	}
	if !slices.Equal(told, want) {
		t.Errorf("told:\ngot  %q\nwant %q", told, want)
	}
}

// TestJoinedStartedMayReturnNil: nil changes nothing, whoever returns it.
func TestJoinedStartedMayReturnNil(t *testing.T) {
	silent := throttle.Hooks{Started: func(context.Context, throttle.StartEvent) context.Context { return nil }}
	for _, c := range []struct {
		name  string
		hooks func(told *[]string) []throttle.Hooks
		want  any
	}{
		{"the first", func(told *[]string) []throttle.Hooks { return []throttle.Hooks{silent, tracer(told, "a")} }, "a"},
		{"the middle one", func(told *[]string) []throttle.Hooks {
			return []throttle.Hooks{tracer(told, "a"), silent, tracer(told, "b")}
		}, "ab"},
		{"the last", func(told *[]string) []throttle.Hooks { return []throttle.Hooks{tracer(told, "a"), silent} }, "a"},
		{"all", func(*[]string) []throttle.Hooks { return []throttle.Hooks{silent, silent} }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var told []string
			th := build(t, throttle.Config{Hooks: throttle.JoinHooks(c.hooks(&told)...)})
			_ = th.Do(t.Context(), throttle.High, func(ctx context.Context) error {
				equal(t, "trail that fn sees", markOf(ctx), c.want)
				return nil
			})
		})
	}
}

// TestJoinHooksKeepsItsArguments: joining changes none of the hooks given, and they may be joined again.
func TestJoinHooksKeepsItsArguments(t *testing.T) {
	var told []string
	a, b := noteAll(&told, "a"), noteAll(&told, "b")
	parts := []throttle.Hooks{a, b}
	inner := throttle.JoinHooks(parts...)
	parts[1] = throttle.Hooks{}
	throttle.JoinHooks(inner, a).Closed(nil)
	inner.Closed(nil)
	want := []string{"a Closed", "b Closed", "a Closed", "a Closed", "b Closed"}
	if !slices.Equal(told, want) {
		t.Errorf("told: got %q want %q", told, want)
	}
}

// TestEveryJoinedFinishedIsToldThoughOneDoesNotReturn: each may have a span to end. The panic goes on up to the caller all the same.
func TestEveryJoinedFinishedIsToldThoughOneDoesNotReturn(t *testing.T) {
	for name, exit := range exits {
		for _, hostile := range []string{"a", "b", "c", "abc"} {
			t.Run(name+" of "+hostile, func(t *testing.T) {
				var told []string
				var parts []throttle.Hooks
				for _, who := range []string{"a", "b", "c"} {
					parts = append(parts, throttle.Hooks{Finished: func(_ context.Context, e throttle.FinishEvent) {
						told = append(told, who+" "+e.Outcome.String())
						if strings.Contains(hostile, who) {
							exit()
						}
					}})
				}
				th := build(t, throttle.Config{Hooks: throttle.JoinHooks(parts...)})
				leave(t, name, func() { _ = th.Do(context.Background(), throttle.High, returns(errBusy)) })
				if want := []string{"c rejected", "b rejected", "a rejected"}; !slices.Equal(told, want) {
					t.Errorf("told: got %q want %q", told, want)
				}
				wantAdmitted(t, th, throttle.High, 1, throttle.Rejected, throttle.FaultAvailability)
			})
		}
	}
}
