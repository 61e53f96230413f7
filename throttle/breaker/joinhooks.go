package breaker

import "github.com/spillway-go/spillway/throttle/internal/inorder"

// JoinHooks returns hooks that tell all of the given ones, in order. A moment that nobody listens to stays nil.
func JoinHooks(hooks ...Hooks) Hooks {
	var joined Hooks
	for _, h := range hooks {
		joined = Hooks{
			Created: inorder.One(joined.Created, h.Created),
			Closed:  inorder.One(joined.Closed, h.Closed),
			Shed:    inorder.Two(joined.Shed, h.Shed),
			Changed: inorder.One(joined.Changed, h.Changed),
			Led:     inorder.One(joined.Led, h.Led),
			Failed:  inorder.One(joined.Failed, h.Failed),
		}
	}
	return joined
}
