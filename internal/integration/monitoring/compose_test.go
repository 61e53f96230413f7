package monitoring

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle"
)

// compose returns docker-compose.yml as docker compose reads it in an empty environment. It checks the
// schema too.
func compose(t testing.TB) *types.Project {
	t.Helper()
	file := program.File(t, "docker-compose.yml")
	return throttle.Must(loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir:  filepath.Dir(file),
		ConfigFiles: []types.ConfigFile{{Filename: file}},
		Environment: types.Mapping{},
	}, func(o *loader.Options) { o.SetProjectName("spillway", true) }))
}

// TestCompose_Hardened checks that containers have no privileges they do not need, that images have full versions, and that no
// port is open to the network: a browser can reach only services that check the origin of a request, or are configured to.
func TestCompose_Hardened(t *testing.T) {
	published := map[string]string{}
	for name, s := range compose(t).Services {
		for _, port := range s.Ports {
			published[name] += port.HostIP + ":" + port.Published
		}
		if s.Privileged || len(s.CapAdd) > 0 || len(s.Devices) > 0 || s.NetworkMode != "" || s.Pid != "" {
			t.Errorf("%s: got privileges want none", name)
		}
		if s.HealthCheck == nil || s.HealthCheck.Disable || len(s.HealthCheck.Test) == 0 {
			t.Errorf("%s: got no health check", name)
		}
		for _, v := range s.Volumes {
			if strings.Contains(v.Source, "docker.sock") || v.Type == types.VolumeTypeBind && !v.ReadOnly {
				t.Errorf("%s: got %s mounted so that it can be written to", name, v.Source)
			}
		}
		if s.Build != nil {
			checkDockerfile(t, filepath.Join(s.Build.Context, s.Build.Dockerfile))
		} else if !regexp.MustCompile(`^[a-z0-9./-]+:v?\d+\.\d+\.\d+$`).MatchString(s.Image) {
			t.Errorf("%s: got image %q want a full version: a moving tag would run untested ones", name, s.Image)
		}
	}
	want := map[string]string{"grafana": "127.0.0.1:3000", "jaeger": "127.0.0.1:16686", "prometheus": "127.0.0.1:9090", "storefront": "127.0.0.1:8080"}
	if !maps.Equal(published, want) {
		t.Errorf("published ports: got %v want %v", published, want)
	}
}

// TestCompose_Browser checks that Prometheus lets no page of another site ask, and that the default password of Grafana does not work.
// Prometheus reads its flag as a regular expression for the whole origin.
func TestCompose_Browser(t *testing.T) {
	services := compose(t).Services
	origin := ".*" // the default
	for _, flag := range services["prometheus"].Command {
		if value, ok := strings.CutPrefix(flag, "--web.cors.origin="); ok {
			origin = value
		}
	}
	allowed := regexp.MustCompile("^(?:" + origin + ")$")
	for _, site := range []string{"https://evil.example", "http://evil.example:9090", "http://localhost.evil.example:9090", "http://localhost:8081", "null"} {
		if allowed.MatchString(site) {
			t.Errorf("a page of %s: got it let in by %q", site, origin)
		}
	}
	environment := services["grafana"].Environment.Resolve(func(string) (string, bool) { return "", false })
	for name, want := range map[string]string{
		"GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION": "true", "GF_AUTH_DISABLE_LOGIN_FORM": "true",
		"GF_AUTH_BASIC_ENABLED": "false", "GF_AUTH_ANONYMOUS_ORG_ROLE": "Viewer",
	} {
		if got := environment[name]; got == nil || *got != want {
			t.Errorf("%s: want %s", name, want)
		}
	}
}

// checkDockerfile wants a Dockerfile with pinned images, existing sources and a user that is not root.
func checkDockerfile(t *testing.T, file string) {
	t.Helper()
	text := throttle.Must(os.ReadFile(file))
	for _, from := range regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllStringSubmatch(string(text), -1) {
		if from[1] != "scratch" && !regexp.MustCompile(`:v?\d+\.\d+\.\d+`).MatchString(from[1]) {
			t.Errorf("%s: got FROM %s want a full version", file, from[1])
		}
	}
	if user := regexp.MustCompile(`(?m)^USER ([1-9]\d*)`).FindString(string(text)); user == "" {
		t.Errorf("%s: got no USER want the number of one who is not root", file)
	}
	for _, copied := range regexp.MustCompile(`(?m)^COPY ([^-].*) \S+$`).FindAllStringSubmatch(string(text), -1) {
		for source := range strings.FieldsSeq(copied[1]) {
			if _, err := os.Stat(program.File(t, source)); err != nil {
				t.Errorf("%s: COPY: %v", file, err)
			}
		}
	}
}

// TestCompose_Mounts checks that every path in a flag leads to a file of the repository.
func TestCompose_Mounts(t *testing.T) {
	for name, s := range compose(t).Services {
		var given []string
		for _, flag := range s.Command {
			given = append(given, flag[strings.Index(flag, "=")+1:])
		}
		for _, value := range s.Environment {
			if value != nil {
				given = append(given, *value)
			}
		}
		for _, v := range s.Volumes {
			given = append(given, v.Target)
		}
		for _, inside := range given {
			if file := mounted(s, inside); file != "" {
				if _, err := os.Stat(file); err != nil {
					t.Errorf("%s: %s: %v", name, inside, err)
				}
			}
		}
	}
}

// mounted returns the file of the repository for a path in a container, or "". The deeper of two mounts
// wins.
func mounted(s types.ServiceConfig, inside string) string {
	file, deepest := "", 0
	for _, v := range s.Volumes {
		target := path.Clean(v.Target)
		rest, ok := strings.CutPrefix(path.Clean(inside), target)
		if v.Type == types.VolumeTypeBind && ok && (rest == "" || rest[0] == '/') && len(target) > deepest {
			file, deepest = filepath.Join(v.Source, filepath.FromSlash(rest)), len(target)
		}
	}
	return file
}
