package limits

import (
	"encoding/binary"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// outcome is the state of a request.
type outcome uint8

const (
	nothing  outcome = iota // an unused slot
	pending                 // not answered yet
	failed                  // answered with an error; tokens may have been taken
	answered                // answered with a decision
)

// decision is a request and its answer. Its times are of the clock of the machine, as in the stores. It has a
// fixed size, for the journal.
type decision struct {
	Outcome         outcome
	Source          bucket.Source
	Job             uint8
	Who             uint16
	Wanted, Granted int32
	Asked, Answered int64 // nanoseconds since 1970
}

// journal is a file with a slot for each request. Its data survive a kill of the writer.
type journal struct {
	file *os.File
	last atomic.Int64
}

// begin records a request, and returns the function that records its answer.
func (j *journal) begin(d decision) (func(bucket.Decision, error), error) {
	at := (j.last.Add(1) - 1) * int64(binary.Size(d))
	d.Outcome, d.Asked = pending, time.Now().UnixNano()
	if err := j.write(at, d); err != nil {
		return nil, err
	}
	return func(a bucket.Decision, err error) {
		d.Answered, d.Outcome = time.Now().UnixNano(), answered
		if err != nil {
			d.Outcome = failed
		}
		d.Source, d.Granted = a.Source, int32(a.Granted)
		_ = j.write(at, d) // on an error it stays pending, which the judge allows for
	}, nil
}

func (j *journal) write(at int64, d decision) error {
	slot, err := binary.Append(nil, binary.LittleEndian, d)
	if err == nil {
		_, err = j.file.WriteAt(slot, at)
	}
	return err
}

func readJournal(name string) ([]decision, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	all := make([]decision, len(text)/binary.Size(decision{}))
	if _, err := binary.Decode(text, binary.LittleEndian, all); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(d decision) bool { return d.Outcome == nothing }), nil
}
