package bucket

import "github.com/spillway-go/spillway/throttle/internal/inorder"

// JoinHooks returns hooks that tell all of the given ones, in order. A moment that nobody listens to stays nil.
func JoinHooks(hooks ...Hooks) Hooks {
	var joined Hooks
	for _, h := range hooks {
		joined = Hooks{
			Created: inorder.One(joined.Created, h.Created),
			Closed:  inorder.One(joined.Closed, h.Closed),
			Asked:   inorder.Two(joined.Asked, h.Asked),
			Denied:  inorder.Two(joined.Denied, h.Denied),
			Waited:  inorder.Two(joined.Waited, h.Waited),
		}
	}
	return joined
}
