package program

import (
	"context"
	"database/sql"
	"net"
	"os"
	"testing"
	"time"
)

// TestServe_PortTaken has another listener take the port before the server starts.
func TestServe_PortTaken(t *testing.T) {
	Find(t, "prometheus", "prometheus")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	offers := 0
	config := t.TempDir() + "/prometheus.yml"
	if err := os.WriteFile(config, []byte("global: {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := serve(t, Find(t, "prometheus", "prometheus"), "/-/ready", func(address string) []string {
		return []string{"--config.file=" + config, "--storage.tsdb.path=" + t.TempDir(), "--web.listen-address=" + address}
	}, func(testing.TB) string {
		if offers++; offers <= 2 {
			return taken.Addr().String()
		}
		return freeAddress(t)
	})
	if offers < 3 || s.Address == taken.Addr().String() {
		t.Errorf("address: got %s of %d offers, want the third", s.Address, offers)
	}
}

// TestDatabases_FreezeKillRestart does to a database what the tests of stores do. Committed data must survive.
func TestDatabases_FreezeKillRestart(t *testing.T) {
	t.Run("postgres", func(t *testing.T) {
		p := Postgres(t)
		freezeKillRestart(t, p, "pgx", p.DSN(""))
	})
	t.Run("mariadb", func(t *testing.T) {
		m := MariaDB(t)
		freezeKillRestart(t, m, "mysql", m.DSN(""))
	})
}

// A database is a server that keeps what was committed.
type database interface {
	Freeze(t testing.TB)
	Thaw(t testing.TB)
	Kill(t testing.TB)
	Restart(t testing.TB)
}

func freezeKillRestart(t *testing.T, server database, driver, dsn string) {
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("CREATE TABLE kept (n INTEGER)"); err != nil {
		t.Fatal(err)
	}
	count := func() (n int, err error) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		err = db.QueryRowContext(ctx, "SELECT COUNT(*) FROM kept").Scan(&n)
		return n, err
	}
	frozen, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	server.Freeze(t)
	if _, err := db.ExecContext(frozen, "INSERT INTO kept VALUES (1)"); err == nil {
		t.Error("frozen: got an answer want none")
	}
	server.Thaw(t)
	Eventually(t, "it answers again", func() string {
		if _, err := count(); err != nil {
			return err.Error()
		}
		return ""
	})
	server.Kill(t)
	if _, err := count(); err == nil {
		t.Error("killed: got an answer want none")
	}
	server.Restart(t)
	if _, err := count(); err != nil {
		t.Errorf("started again: %v", err)
	}
	server.Freeze(t) // the end of the test must thaw it
}
