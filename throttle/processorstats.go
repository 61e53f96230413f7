package throttle

import (
	"time"

	"github.com/spillway-go/spillway/throttle/internal/processor"
)

// ProcessorStats is the state of what [Config.ProcessorWait] does. There is one for the whole process.
type ProcessorStats struct {
	Wait          time.Duration          // for a processor, of a goroutine that becomes runnable now
	Aim           time.Duration          // the wait that is held, at least that of Config.ProcessorWait
	Floor         time.Duration          // the part of Wait that shedding does not change: other work of the process
	Runnable      int                    // goroutines that wait for a processor
	Processors    int                    // as of runtime.GOMAXPROCS
	Share         float64                // of all calls that are shed
	Probabilities [MaxPriorities]float64 // of shedding, by priority
	_             struct{}               // keyed literals only
}

// Processor returns for how long requests wait for a processor, and which share of them is shed for it.
// It is zero while the process serves no calls.
func Processor() ProcessorStats {
	p := processor.Shared()
	if p == nil {
		return ProcessorStats{}
	}
	s := p.State()
	return ProcessorStats{
		Wait: s.Wait, Aim: s.Aim, Floor: s.Floor, Runnable: s.Runnable, Processors: s.Processors,
		Share: s.Share, Probabilities: s.Drops,
	}
}
