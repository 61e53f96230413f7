package stores_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/breaker/store"
	"github.com/spillway-go/spillway/throttle/breaker/storetest"
	"github.com/spillway-go/spillway/throttle/sqlstore"
)

func TestSQLite(t *testing.T) {
	t.Parallel()
	e := newSQLite()
	t.Run("conformance", func(t *testing.T) { storetest.Run(t, e.fresh) })
	e.cases(t)
	t.Run("a read-only file", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "store.db")
		readOnly := e.open(t, sqliteFile(file)+"&mode=ro")
		e.readsOnly(t, e.open(t, sqliteFile(file)), readOnly, sqlstore.BreakerConfig{Name: "ro"})
	})
	t.Run("another process writes", e.waitsForWriters)
	t.Run("a full disk", e.isFull)
	t.Run("a file that is not a database", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "store.db")
		must(t, os.WriteFile(file, make([]byte, 8192), 0o600))
		b := throttle.Must(sqlstore.NewBreaker(e.open(t, "file:"+file), sqlstore.SQLite, sqlstore.BreakerConfig{Name: "b"}))
		for step, err := range breakerSteps(b).within(t, time.Minute) {
			if err == nil || errors.Is(err, sqlstore.ErrNoTables) {
				t.Errorf("%s: got %v want another error", step, err)
			}
		}
	})
}

// waitsForWriters holds the file's lock. Who reads is not disturbed; who writes gets an error when the time that the file's name allows is
// over, whatever the context says.
func (e *engine) waitsForWriters(t *testing.T) {
	file := filepath.Join(t.TempDir(), "store.db")
	b := e.store(t, e.open(t, "file:"+file+"?_pragma=busy_timeout(50)&_pragma=journal_mode(WAL)"), sqlstore.BreakerConfig{Name: "b"})
	tx, err := e.open(t, sqliteFile(file)).Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec("UPDATE spillway_breaker_lease SET term = term"); err != nil {
		t.Fatal(err)
	}
	for step, err := range breakerSteps(b).within(t, 30*time.Minute) {
		reads := step == "versions" || step == "load"
		if reads != (err == nil) {
			t.Errorf("%s: got %v", step, err)
		}
	}
	must(t, tx.Rollback())
	breakerSteps(b).wantWorks(t)
}

// isFull lets a file grow to so many pages and no more: a batch that does not fit leaves nothing behind.
func (e *engine) isFull(t *testing.T) {
	db := e.open(t, e.dsn(t))
	b := e.store(t, db, sqlstore.BreakerConfig{Name: "b"})
	small := store.Batch{Changes: []store.Change{{ID: store.RecordID{1}, Data: []byte("small")}}}
	version, err := b.Apply(t.Context(), small)
	if err != nil {
		t.Fatal(err)
	}
	e.exec(t, db, "PRAGMA max_page_count = 30")
	large := store.Batch{Expect: version, Changes: []store.Change{
		{ID: store.RecordID{1}, Data: []byte("other")}, {ID: store.RecordID{2}, Data: make([]byte, 1<<20)},
	}}
	if _, err := b.Apply(t.Context(), large); err == nil {
		t.Fatal("got no error")
	}
	loaded, err := b.Load(t.Context(), []int{0})
	if err != nil || loaded[0].Version != version || len(loaded[0].Records) != 1 || string(loaded[0].Records[0].Data) != "small" {
		t.Errorf("got %v %v want what was there before", loaded, err)
	}
	e.exec(t, db, "PRAGMA max_page_count = 1000000")
	if _, err := b.Apply(t.Context(), large); err != nil {
		t.Errorf("with more space: %v", err)
	}
}

func TestSQLiteBuckets(t *testing.T) {
	t.Parallel()
	newSQLite().bucketCases(t)
}
