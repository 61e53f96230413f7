package limits

import (
	"database/sql"
	"fmt"
	"slices"
	"testing"

	"github.com/spillway-go/spillway/internal/integration/program"
)

// crowd is a database. Freeze takes all its connections, also those that the agents have.
type crowd struct {
	engine

	id, all, end string // statements: this connection, all connections, and end one

	db    *sql.DB
	conns []*sql.Conn
}

func (c *crowd) Freeze(t testing.TB) {
	t.Helper()
	_, driver := dialects(c.Name)
	db, err := sql.Open(driver, c.Address)
	if err != nil {
		t.Fatal(err)
	}
	c.db, c.conns = db, nil
	most := map[string]string{"postgres": "SELECT current_setting('max_connections')::int", "mariadb": "SELECT @@max_connections + 1"}[c.Name]
	var own []int64
	var slots int
	if err := db.QueryRowContext(t.Context(), most).Scan(&slots); err != nil {
		t.Fatal(err)
	}
	take := func() bool {
		conn, err := db.Conn(t.Context())
		if err != nil {
			return false
		}
		var id int64
		if err := conn.QueryRowContext(t.Context(), c.id).Scan(&id); err != nil {
			t.Fatal(err)
		}
		c.conns, own = append(c.conns, conn), append(own, id)
		return true
	}
	program.Eventually(t, "all connections are taken", func() string {
		for len(own) < slots && take() {
		}
		for _, id := range c.others(t, own) {
			// One that has just ended is an error.
			_, _ = c.conns[0].ExecContext(t.Context(), fmt.Sprintf(c.end, id))
			for n := 0; n < 20 && len(own) < slots && !take(); n++ { // at once, before an agent does
			}
		}
		if len(own) < slots {
			return fmt.Sprintf("%d of %d", len(own), slots)
		}
		return ""
	})
}

// others returns the connections that are not own.
func (c *crowd) others(t testing.TB, own []int64) (others []int64) {
	t.Helper()
	rows, err := c.conns[0].QueryContext(t.Context(), c.all)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(own, id) {
			others = append(others, id)
		}
	}
	return others
}

func (c *crowd) Thaw(t testing.TB) {
	t.Helper()
	for _, conn := range c.conns {
		_ = conn.Close()
	}
	if err := c.db.Close(); err != nil {
		t.Fatal(err)
	}
}
