package breaker

import "github.com/spillway-go/spillway/throttle/internal/hook"

// JoinHooks returns hooks that tell all of the given ones, in order. A moment that nobody listens to stays nil.
func JoinHooks(hooks ...Hooks) Hooks {
	var joined Hooks
	for _, h := range hooks {
		joined = Hooks{
			Created: hook.Join1(joined.Created, h.Created),
			Closed:  hook.Join1(joined.Closed, h.Closed),
			Shed:    hook.Join2(joined.Shed, h.Shed),
			Changed: hook.Join1(joined.Changed, h.Changed),
			Led:     hook.Join1(joined.Led, h.Led),
			Failed:  hook.Join1(joined.Failed, h.Failed),
		}
	}
	return joined
}
