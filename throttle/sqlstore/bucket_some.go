package sqlstore

import (
	"context"
	"database/sql"
	"slices"

	"github.com/spillway-go/spillway/throttle/bucket"
	bucketstore "github.com/spillway-go/spillway/throttle/bucket/store"
)

// takeSome decides requests by one statement of PostgreSQL, and returns the open ones: those that it cannot
// make, or whose row another limit has written.
func (b *Bucket) takeSome(ctx context.Context, rs []bucketstore.Request, answers []bucketstore.Answer) (open []int) {
	sent, args := make(map[string]int, len(rs)), make([][]any, 0, len(rs))
	requests := make([]takeRequest, len(rs))
	for i, r := range rs {
		t := newTakeRequest(b.name, r)
		requests[i] = t
		if _, twice := sent[string(t.id)]; twice || r.Limit.Algorithm != bucket.Continuous || t.most == 0 || t.need > 1 {
			open = append(open, i)
			continue
		}
		sent[string(t.id)] = i
		args = append(args, []any{b.name, t.id, t.most, t.interval, r.Limit.Capacity})
	}
	if len(args) == 0 {
		return open
	}
	rows, err := run(ctx, b, func(ctx context.Context, db querier) ([]takenRow, error) { return b.queryTaken(ctx, db, args) })
	if err != nil {
		for _, i := range sent {
			answers[i].Err = stepFailed("take", err)
		}
		return open
	}
	for _, row := range rows {
		i := sent[string(row.id)]
		d, final := requests[i].decided(row.level(), row.now, row.granted)
		if !final {
			open = append(open, i)
			continue
		}
		b.roundUp(&d)
		answers[i].Decision = d
	}
	slices.Sort(open) // two requests about one bucket are decided in their order
	return open
}

// takenRow is a row of the result.
type takenRow struct {
	levelRow

	id []byte
}

func (b *Bucket) queryTaken(ctx context.Context, db querier, args [][]any) ([]takenRow, error) {
	rows := make([]takenRow, 0, len(args))
	err := eachRow(ctx, db, b.sql.takeSome.of(len(args)), b.sql.takeSome.args(args), func(result *sql.Rows) error {
		var row takenRow
		err := result.Scan(row.targets(&row.id, &row.now, &row.granted)...)
		rows = append(rows, row)
		return err
	})
	return rows, err
}
