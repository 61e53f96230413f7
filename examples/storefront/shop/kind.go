package shop

import "github.com/spillway-go/spillway/throttle"

// Kind is a kind of call that visitors cause.
type Kind struct {
	Name     string
	Priority throttle.Priority
	Share    float64 // of all calls
}

// Kinds returns all kinds, by priority.
func Kinds() [throttle.StandardPriorities]Kind {
	return [...]Kind{
		{"checkout", throttle.High, 0.10},
		{"cart", throttle.Important, 0.20},
		{"browse", throttle.Medium, 0.40},
		{"recommendations", throttle.Low, 0.30},
	}
}

// pick returns the kind that a draw from [0, 1) stands for.
func pick(draw float64) Kind {
	kinds := Kinds()
	for _, k := range kinds {
		if draw < k.Share {
			return k
		}
		draw -= k.Share
	}
	return kinds[len(kinds)-1]
}
