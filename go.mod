module github.com/spillway-go/spillway

go 1.26

require github.com/deixis/faults v1.0.1

// The module proxy of some builds does not serve faults; see the stand-in's README. Consumers ignore this line.
replace github.com/deixis/faults => ./internal/third_party/faults
