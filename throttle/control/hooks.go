package control

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/internal/hook"
)

// Hooks are functions that a [Control] calls. Any field may be nil. Hooks are called with no lock
// held, on the goroutine of the change: that of Apply, of a request, of Watch, or of a timer. They
// must not block. A panic in Tuned or Failed is counted in [Stats].HookPanics, and the change goes on.
type Hooks struct {
	_ struct{} // keyed literals only: fields will be added

	// Created is called at the end of [New].
	Created func(*Control)
	// Closed is called once, by [Control.Close].
	Closed func(*Control)
	// Tuned is called for each line that began, changed or ended, after it has been applied.
	Tuned func(context.Context, TunedEvent)
	// Failed is called for a file or a request that was refused, once for each reason, and if a
	// setting cannot be applied to a throttle that was made after the document. Failures to read a document that
	// differ by their numbers only have one reason.
	Failed func(context.Context, FailedEvent)
}

// TunedEvent describes a change of settings.
type TunedEvent struct{ Change }

// FailedEvent describes a change that was refused. What was in force before stays in force.
type FailedEvent struct {
	Source throttle.Source
	Err    error
}

// String returns the event in one line.
func (e FailedEvent) String() string { return fmt.Sprintf("refused, source %v: %v", e.Source, e.Err) }

// defaultHooks is the only package-level state of control.
var defaultHooks hook.Default[Hooks]

// SetDefaultHooks sets the hooks of every Control that is created later with a Config without
// Hooks, like [slog.SetDefault]. A Config with Hooks does not use the default hooks. To use both,
// join them:
//
//	Hooks: control.JoinHooks(control.DefaultHooks(), own)
func SetDefaultHooks(h Hooks) { defaultHooks.Set(h) }

// DefaultHooks returns the hooks of the last [SetDefaultHooks], or no hooks.
func DefaultHooks() Hooks { return defaultHooks.Get() }

// JoinHooks returns hooks that call all the given hooks, in order. A field that is nil in all of
// them stays nil.
func JoinHooks(hooks ...Hooks) Hooks {
	var joined Hooks
	for _, h := range hooks {
		joined = Hooks{
			Created: hook.Join1(joined.Created, h.Created),
			Closed:  hook.Join1(joined.Closed, h.Closed),
			Tuned:   hook.Join2(joined.Tuned, h.Tuned),
			Failed:  hook.Join2(joined.Failed, h.Failed),
		}
	}
	return joined
}

// LogHooks returns hooks that log each change of settings: a warning, because a forgotten override
// is a risk, and an info line if it ends. A document that is refused is an error, once for each
// reason. A nil logger means slog.Default().
func LogHooks(logger *slog.Logger) Hooks {
	if logger == nil {
		logger = slog.Default()
	}
	return Hooks{
		Tuned: func(ctx context.Context, e TunedEvent) {
			level, message := slog.LevelWarn, e.Kind+" is tuned"
			if e.Result == Ended {
				level, message = slog.LevelInfo, e.Kind+" is no longer tuned"
			}
			logger.LogAttrs(ctx, level, message, tunedAttrs(&e)...)
		},
		Failed: func(ctx context.Context, e FailedEvent) {
			logger.LogAttrs(ctx, slog.LevelError, "control: change is refused, earlier settings stay",
				slog.String("source", e.Source.String()), slog.String("error", e.Err.Error()))
		},
	}
}

func tunedAttrs(e *TunedEvent) []slog.Attr {
	var values []string
	for _, d := range e.Values {
		values = append(values, d.Name+": "+orUnknown(d.Old)+" -> "+orUnknown(d.New))
	}
	attrs := []slog.Attr{slog.String(e.Kind, e.Name), slog.String("values", strings.Join(values, ", ")), slog.String("source", e.Source.String())}
	if e.By != "" {
		attrs = append(attrs, slog.String("by", e.By))
	}
	if e.Reason != "" {
		attrs = append(attrs, slog.String("reason", e.Reason))
	}
	if !e.Until.IsZero() && e.Result != Ended {
		attrs = append(attrs, slog.Time("until", e.Until))
	}
	return attrs
}
