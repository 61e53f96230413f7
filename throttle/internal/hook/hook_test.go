package hook_test

import (
	"context"
	"testing"

	"github.com/spillway-go/spillway/throttle/internal/hook"
	"github.com/spillway-go/spillway/throttle/internal/hook/hooktest"
)

// hooks has a field of each kind. What the users of a package see of them is tested there.
type hooks struct {
	Created  func(int)
	Changed  func(context.Context, int)
	Started  func(context.Context, int) context.Context
	Finished func(context.Context, int)
}

func join(all ...hooks) (joined hooks) {
	for _, h := range all {
		joined = hooks{
			Created:  hook.Join1(joined.Created, h.Created),
			Changed:  hook.Join2(joined.Changed, h.Changed),
			Started:  hook.JoinContext(joined.Started, h.Started),
			Finished: hook.JoinReverse(joined.Finished, h.Finished),
		}
	}
	return joined
}

func TestJoin_laws(t *testing.T) {
	var d hook.Default[hooks]
	hooktest.Laws[hooks]{
		Join: join, Set: d.Set, Get: d.Get, Reversed: "Finished",
		Create: func(h hooks) {
			if created := d.Or(h).Created; created != nil {
				created(0)
			}
		},
	}.Check(t)
}
