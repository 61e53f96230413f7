package limits

import (
	"context"
	"encoding/binary"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

// outcome is the state of a request.
type outcome uint8

const (
	nothing  outcome = iota // an unused slot
	pending                 // not answered yet
	failed                  // answered with an error; tokens may have been taken
	answered                // answered with a decision
)

// level is the place where an answer was recorded.
type level uint8

const (
	byCaller level = iota // the answer that a caller got
	byStore               // the answer that the limiter got from the store
	back                  // what the limiter returned to the store, such as an answer after the timeout
)

// decision is a request and its answer. Its times are of the clock of the machine, as in the stores. It has a
// fixed size, for the journal.
type decision struct {
	Outcome         outcome
	Level           level
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

type recorded struct {
	store.Store

	journal *journal
	at      uint8
}

func (s recorded) request(at level, n int64) decision {
	return decision{Level: at, Job: s.at, Wanted: int32(n)}
}

func (s recorded) Take(ctx context.Context, r store.Request) (bucket.Decision, error) {
	end, err := s.journal.begin(s.request(byStore, r.Max))
	if err != nil {
		return bucket.Decision{}, err
	}
	d, err := s.Store.Take(ctx, r)
	end(d, err)
	return d, err
}

func (s recorded) Return(ctx context.Context, key string, l bucket.Limit, n int64) error {
	end, err := s.journal.begin(s.request(back, n))
	if err != nil {
		return err
	}
	err = s.Store.Return(ctx, key, l, n)
	end(bucket.Decision{}, err)
	return err
}
