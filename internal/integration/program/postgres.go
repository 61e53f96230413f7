package program

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // to ask whether it is ready
)

// PostgresServer is a PostgreSQL that does not wait for disks.
type PostgresServer struct {
	*Server

	command, flags []string
	data           string
}

// Postgres starts a PostgreSQL with an empty database, and settings, such as "TimeZone=Europe/Paris".
func Postgres(t testing.TB, settings ...string) *PostgresServer {
	t.Helper()
	bin := postgresBin(t)
	p := &PostgresServer{data: t.TempDir(), flags: []string{
		"-c", "fsync=off", "-c", "full_page_writes=off", "-c", "shared_buffers=16MB", "-c", "max_connections=60",
		"-c", "unix_socket_directories=", "-c", "autovacuum=off",
	}}
	for _, s := range settings {
		p.flags = append(p.flags, "-c", s)
	}
	give := exec.Command(filepath.Join(bin, "initdb"), "-D", p.data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")
	if os.Getuid() == 0 { // as whom PostgreSQL refuses to run
		p.command = p.giveAway(t, give)
	}
	if said, err := give.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v:\n%s", err, said)
	}
	p.command = append(p.command, filepath.Join(bin, "postgres"))
	for range attempts {
		if p.start(t, freeAddress(t)) {
			return p
		}
	}
	t.Fatalf("%s found no port in %d attempts", p.command, attempts)
	return nil
}

// postgresBin returns the folder with the programs. Debian keeps one for each version, out of the path.
func postgresBin(t testing.TB) string {
	t.Helper()
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb"); len(found) > 0 {
		return filepath.Dir(found[len(found)-1])
	}
	path := Find(t, "postgresql", "initdb")
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	return filepath.Dir(path)
}

// giveAway gives the folder for the data to somebody who is not root, makes the command run as that, and returns the command that does so for
// the server.
func (p *PostgresServer) giveAway(t testing.TB, command *exec.Cmd) []string {
	t.Helper()
	who, err := user.Lookup("postgres")
	if err != nil {
		who, err = user.Lookup("nobody")
	}
	if err != nil {
		t.Fatal(err)
	}
	uid, _ := strconv.Atoi(who.Uid)
	gid, _ := strconv.Atoi(who.Gid)
	if err := os.Chown(p.data, uid, gid); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(p.data), 0o711); err != nil { // the way to it
		t.Fatal(err)
	}
	command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	command.Dir = p.data
	return []string{Find(t, "util-linux", "setpriv"), "--reuid=" + who.Uid, "--regid=" + who.Gid, "--clear-groups", "--"}
}

// DSN returns what a driver needs to know, with parameters as in a URL, or "".
func (p *PostgresServer) DSN(parameters string) string {
	return "postgres://postgres@" + p.Address + "/postgres?sslmode=disable&" + parameters
}

// Freeze stops the server as it stands, with the processes that serve its connections.
func (p *PostgresServer) Freeze(t testing.TB) {
	t.Helper()
	p.Process.Freeze(t) // first, so that it starts no more of them
	for _, pid := range children(p.cmd.Process.Pid) {
		_ = syscall.Kill(pid, syscall.SIGSTOP)
		awaitStop(t, pid)
	}
}

// Thaw lets a frozen server go on.
func (p *PostgresServer) Thaw(t testing.TB) {
	t.Helper()
	p.signalBackends(syscall.SIGCONT)
	p.Process.Thaw(t)
}

// Kill ends the server at once, with all its processes.
func (p *PostgresServer) Kill(t testing.TB) {
	t.Helper()
	p.Freeze(t)
	p.signalBackends(syscall.SIGKILL)
	p.Process.Kill(t)
}

// signalBackends signals the server's children. One that has just ended needs no signal.
func (p *PostgresServer) signalBackends(s syscall.Signal) {
	for _, pid := range children(p.cmd.Process.Pid) {
		_ = syscall.Kill(pid, s)
	}
}

// Restart starts the server again where it was, after Kill. It has kept what was committed.
func (p *PostgresServer) Restart(t testing.TB) {
	t.Helper()
	// A server that was killed leaves this behind.
	if err := os.Remove(filepath.Join(p.data, "postmaster.pid")); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	restart(t, p.Address, p.start)
}

func (p *PostgresServer) start(t testing.TB, address string) bool {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	flags := append(append(p.command[1:len(p.command):len(p.command)], "-D", p.data, "-h", host, "-p", port), p.flags...)
	p.Server = &Server{Process: Start(t, p.command[0], flags...), Address: address}
	t.Cleanup(func() { p.signalBackends(syscall.SIGCONT) }) // before the server is asked to end, which they must do first
	return p.risesAsDatabase(t, "pgx", p.DSN("connect_timeout=2"), "SELECT current_setting('data_directory')", p.data)
}

// risesAsDatabase waits until the server answers a question. It reports false if the port was taken: somebody else may answer, but
// differently.
func (s *Server) risesAsDatabase(t testing.TB, driver, dsn, question, want string) bool {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	taken := false
	Eventually(t, s.name+" is ready", func() string {
		if s.over() {
			if taken = portTaken(s.Said()); !taken {
				t.Fatalf("%s ended with %v:\n%s", s.name, s.err, s.Said())
			}
			return ""
		}
		ctx, cancel := context.WithTimeout(t.Context(), silence)
		defer cancel()
		var got string
		if err := db.QueryRowContext(ctx, question).Scan(&got); err != nil || got != want {
			return fmt.Sprintf("got %q want %q, %v; it says:\n%s", got, want, err, s.Said())
		}
		return ""
	})
	s.given = s.given || taken
	return !taken
}
