package bucket

import "github.com/spillway-go/spillway/throttle/internal/hook"

// JoinHooks returns hooks that tell all of the given ones, in order. A moment that nobody listens to stays nil.
func JoinHooks(hooks ...Hooks) Hooks {
	var joined Hooks
	for _, h := range hooks {
		joined = Hooks{
			Created: hook.Join1(joined.Created, h.Created),
			Closed:  hook.Join1(joined.Closed, h.Closed),
			Asked:   hook.Join2(joined.Asked, h.Asked),
			Denied:  hook.Join2(joined.Denied, h.Denied),
			Waited:  hook.Join2(joined.Waited, h.Waited),
		}
	}
	return joined
}
