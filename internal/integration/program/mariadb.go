package program

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	_ "github.com/go-sql-driver/mysql" // to ask whether it is ready
)

// MariaDBServer is a MariaDB, or a MySQL, that does not wait for disks.
type MariaDBServer struct {
	*Server

	path, data string
	flags      []string
}

// MariaDB starts a MariaDB, with a database "spillway" that is empty, and flags beside those that say where it is.
func MariaDB(t testing.TB, flags ...string) *MariaDBServer {
	t.Helper()
	m := &MariaDBServer{path: Find(t, "mariadb-server", "mariadbd"), data: t.TempDir(), flags: flags}
	// What is written before the first checkpoint would not survive Kill, so this one ends well.
	begin := exec.Command(m.path, append(m.storage(), "--bootstrap")...)
	begin.Stdin = strings.NewReader("CREATE DATABASE spillway CHARACTER SET utf8mb4;\n")
	if said, err := begin.CombinedOutput(); err != nil {
		t.Fatalf("%s --bootstrap: %v:\n%s", m.path, err, said)
	}
	for range attempts {
		if m.start(t, freeAddress(t)) {
			return m
		}
	}
	t.Fatalf("%s found no port in %d attempts", m.path, attempts)
	return nil
}

// DSN returns what a driver needs to know, with parameters as in a URL, or "".
func (m *MariaDBServer) DSN(parameters string) string {
	return "root@tcp(" + m.Address + ")/spillway?" + parameters
}

// Restart starts the server again where it was, after Kill. It has kept what was committed.
func (m *MariaDBServer) Restart(t testing.TB) {
	t.Helper()
	restart(t, m.Address, m.start)
}

func (m *MariaDBServer) start(t testing.TB, address string) bool {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	flags := append(m.storage(), "--bind-address="+host, "--port="+port, "--skip-networking=0")
	flags = append(flags, m.flags...)
	m.Server = &Server{Process: Start(t, m.path, flags...), Address: address}
	t.Cleanup(m.end(t))
	return m.risesAsDatabase(t, "mysql", m.DSN("timeout=2s&readTimeout=2s"), "SELECT @@datadir", m.data+"/")
}

// storage says where the data are. Nobody asks who is there, so that the folder needs none of the tables that say.
func (m *MariaDBServer) storage() []string {
	flags := []string{
		"--no-defaults", "--datadir=" + m.data, "--skip-grant-tables",
		"--socket=" + filepath.Join(m.data, "s"), "--pid-file=" + filepath.Join(m.data, "pid"),
		"--innodb-flush-log-at-trx-commit=2", "--innodb-buffer-pool-size=64M", "--innodb-log-file-size=16M",
	}
	if os.Getuid() == 0 { // as whom it runs only if it is told to
		flags = append(flags, "--user=root")
	}
	return flags
}

// end returns what ends the server: it does not listen to Ctrl-C.
func (m *MariaDBServer) end(t testing.TB) func() {
	process := m.Process
	return func() {
		if process.given {
			return
		}
		process.given = true
		_ = process.cmd.Process.Signal(syscall.SIGTERM)
		_ = process.cmd.Process.Signal(syscall.SIGCONT) // it may be frozen
		if process.await(func(string) string { return "" }); !process.over() {
			_ = process.cmd.Process.Kill()
			<-process.ended
			t.Errorf("%s did not end", process.name)
		}
	}
}
