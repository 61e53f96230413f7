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
)

// PostgresServer is a PostgreSQL server that runs without fsync.
type PostgresServer struct {
	*Server

	command, flags []string
	data           string
}

// Postgres starts a PostgreSQL with an empty database. A setting is for example "TimeZone=Europe/Paris".
// The caller imports the driver "pgx": tests without a database must not link it.
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
	initdb := exec.Command(filepath.Join(bin, "initdb"), "-D", p.data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")
	if os.Getuid() == 0 { // PostgreSQL refuses to run as root
		p.command = p.runAsUser(t, initdb)
	}
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v:\n%s", err, out)
	}
	p.command = append(p.command, filepath.Join(bin, "postgres"))
	onFreePort(t, "postgres", p.start)
	return p
}

// postgresBin returns the folder with initdb and postgres. Debian has one per version, outside of PATH.
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

// runAsUser gives the data folder to a user that is not root and makes the command run as that user.
// It returns the prefix of a command that starts the server as that user.
func (p *PostgresServer) runAsUser(t testing.TB, command *exec.Cmd) []string {
	t.Helper()
	account, err := user.Lookup("postgres")
	if err != nil {
		account, err = user.LookupId("65534") // the account of Linux without permissions
	}
	if err != nil {
		t.Fatal(err)
	}
	uid, _ := strconv.Atoi(account.Uid)
	gid, _ := strconv.Atoi(account.Gid)
	if err := os.Chown(p.data, uid, gid); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(p.data), 0o711); err != nil { // so that the user can reach it
		t.Fatal(err)
	}
	command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	command.Dir = p.data
	return []string{Find(t, "util-linux", "setpriv"), "--reuid=" + account.Uid, "--regid=" + account.Gid, "--clear-groups", "--"}
}

// DSN returns the data source name for a driver. The parameters are in the form of a URL query, or "".
func (p *PostgresServer) DSN(parameters string) string {
	return "postgres://postgres@" + p.Address + "/postgres?sslmode=disable&" + parameters
}

// Freeze stops the server and the processes that serve its connections.
func (p *PostgresServer) Freeze(t testing.TB) {
	t.Helper()
	p.Process.Freeze(t) // first, so that it starts no more processes
	for _, pid := range children(p.cmd.Process.Pid) {
		_ = syscall.Kill(pid, syscall.SIGSTOP)
		awaitStop(t, pid)
	}
}

// Thaw continues a frozen server.
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

// Restart starts the server again after Kill, at its old address. Committed data are still there.
func (p *PostgresServer) Restart(t testing.TB) {
	t.Helper()
	// A killed server does not remove this file.
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
	t.Cleanup(func() { p.signalBackends(syscall.SIGCONT) }) // before the server is interrupted: its backends must end first
	return p.awaitDatabase(t, "pgx", p.DSN("connect_timeout=2"), "SELECT current_setting('data_directory')", p.data)
}

// awaitDatabase waits until the server answers the query with want. Another server on the port would
// answer differently. It reports false if the port was taken.
func (s *Server) awaitDatabase(t testing.TB, driver, dsn, query, want string) bool {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	return s.awaitReady(t, func() error {
		ctx, cancel := context.WithTimeout(t.Context(), answerTimeout)
		defer cancel()
		var got string
		if err := db.QueryRowContext(ctx, query).Scan(&got); err != nil || got != want {
			return fmt.Errorf("got %q want %q, %v", got, want, err)
		}
		return nil
	})
}
