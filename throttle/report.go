package throttle

// LoadReport is what a server says about its load, with each answer. Clients that listen shed what the
// server would shed, see [Throttle.Hear].
type LoadReport struct {
	// Overloaded is true if the server has too many calls. If it is false, the calls that the server
	// fails are no sign of load.
	Overloaded bool
	// Utilization is the part of the server's capacity that is used. It is 0 if that is not known. It is
	// above 1 if the server has more calls than it can serve: with 2, it sheds half of them.
	Utilization float64
	// Shed is the share of the calls that the server sheds, by priority: 0 to 1.
	Shed [MaxPriorities]float64
}
