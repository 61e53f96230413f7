// Package inorder joins hooks: functions of which each is called after the other, and of which any may be nil.
package inorder

// One joins two functions of one argument. If one is nil the other is returned, so that a moment that nobody listens to stays nil.
func One[A any](first, second func(A)) func(A) {
	switch {
	case first == nil:
		return second
	case second == nil:
		return first
	}
	return func(a A) { first(a); second(a) }
}

// Two joins two functions of two arguments.
func Two[A, B any](first, second func(A, B)) func(A, B) {
	switch {
	case first == nil:
		return second
	case second == nil:
		return first
	}
	return func(a A, b B) { first(a, b); second(a, b) }
}
