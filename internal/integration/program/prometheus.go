package program

import "testing"

// Prometheus starts a Prometheus with its data in a folder. config returns the path of the configuration file for the address at
// which the server will listen. The flags are added to those that set its address and folder.
func Prometheus(t testing.TB, data string, config func(address string) (file string), flags ...string) *Server {
	t.Helper()
	return Serve(t, Find(t, "prometheus", "prometheus"), "/-/ready", func(address string) []string {
		return append([]string{
			"--config.file=" + config(address),
			"--storage.tsdb.path=" + data,
			"--web.listen-address=" + address,
			"--web.external-url=http://" + address,
		}, flags...)
	})
}

// Alertmanager starts an Alertmanager with a configuration file. It does not join a cluster.
func Alertmanager(t testing.TB, config string) *Server {
	t.Helper()
	path, data := Find(t, "prometheus-alertmanager", "prometheus-alertmanager", "alertmanager"), t.TempDir()
	return Serve(t, path, "/-/ready", func(address string) []string {
		return []string{
			"--config.file=" + config,
			"--storage.path=" + data,
			"--web.listen-address=" + address,
			"--web.external-url=http://" + address,
			"--cluster.listen-address=",
		}
	})
}
