package program

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// MariaDBServer is a MariaDB or MySQL server that does not flush each commit to disk.
type MariaDBServer struct {
	*Server

	path, data, zone string
}

// MariaDB starts a MariaDB with an empty database "spillway" in a time zone, such as Europe/Paris, or "" for that of the machine. The
// caller imports the driver "mysql".
func MariaDB(t testing.TB, zone string) *MariaDBServer {
	t.Helper()
	m := &MariaDBServer{zone: zone, path: Find(t, "mariadb-server", "mariadbd"), data: t.TempDir()}
	// Kill loses what was written before the first checkpoint, so the bootstrap is a run of its own.
	begin := exec.Command(m.path, append(m.storage(), "--bootstrap")...)
	begin.Stdin = strings.NewReader("CREATE DATABASE spillway CHARACTER SET utf8mb4;\n")
	if out, err := begin.CombinedOutput(); err != nil {
		t.Fatalf("%s --bootstrap: %v:\n%s", m.path, err, out)
	}
	onFreePort(t, m.path, m.start)
	return m
}

// DSN returns the data source name for a driver. The parameters are in the form of a URL query, or "".
func (m *MariaDBServer) DSN(parameters string) string {
	return "root@tcp(" + m.Address + ")/spillway?" + parameters
}

// Restart starts the server again after Kill, at its old address. Committed data are still there.
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
	path := m.path
	if m.zone != "" {
		path, flags = "env", append([]string{"TZ=" + m.zone, m.path}, flags...)
	}
	m.Server = &Server{Process: Start(t, path, flags...), Address: address}
	m.interrupt = syscall.SIGTERM // it ignores SIGINT
	return m.awaitDatabase(t, "mysql", m.DSN("timeout=2s&readTimeout=2s"), "SELECT @@datadir", m.data+"/")
}

// storage returns the flags for the data. Users are not checked, so the folder needs no tables of users.
func (m *MariaDBServer) storage() []string {
	flags := []string{
		"--no-defaults", "--datadir=" + m.data, "--skip-grant-tables",
		"--socket=" + filepath.Join(m.data, "s"), "--pid-file=" + filepath.Join(m.data, "pid"),
		"--innodb-flush-log-at-trx-commit=2", "--innodb-buffer-pool-size=64M", "--innodb-log-file-size=16M",
	}
	if os.Getuid() == 0 { // it refuses to run as root without this flag
		flags = append(flags, "--user=root")
	}
	return flags
}
