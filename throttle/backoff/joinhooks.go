package backoff

import "github.com/spillway-go/spillway/throttle/internal/hook"

// JoinHooks returns hooks that tell all of the given ones, in order. A moment that nobody listens to stays nil.
func JoinHooks(hooks ...Hooks) Hooks {
	var joined Hooks
	for _, h := range hooks {
		joined = Hooks{
			Created: hook.Join1(joined.Created, h.Created),
			Closed:  hook.Join1(joined.Closed, h.Closed),
			Stepped: hook.Join1(joined.Stepped, h.Stepped),
			Slept:   hook.Join2(joined.Slept, h.Slept),
		}
	}
	return joined
}
