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
)

// compose returns docker-compose.yml as docker compose reads it in an empty environment. It checks the
// schema too.
func compose(t testing.TB) *types.Project {
	t.Helper()
	file := program.File(t, "docker-compose.yml")
	project, err := loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir:  filepath.Dir(file),
		ConfigFiles: []types.ConfigFile{{Filename: file}},
		Environment: types.Mapping{},
	}, func(o *loader.Options) { o.SetProjectName("spillway", true) })
	if err != nil {
		t.Fatal(err)
	}
	return project
}

// TestCompose_Hardened checks that no port is open to the network and that containers have no privileges
// they do not need.
func TestCompose_Hardened(t *testing.T) {
	for name, s := range compose(t).Services {
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s: got port %s on %q want it on 127.0.0.1 only", name, port.Published, port.HostIP)
			}
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
	}
}

// TestCompose_Ports checks that a browser can reach only services that check the origin of a request, or
// are configured to.
func TestCompose_Ports(t *testing.T) {
	published := map[string]string{}
	for name, s := range compose(t).Services {
		for _, port := range s.Ports {
			published[name] += port.Published
		}
	}
	want := map[string]string{"grafana": "3000", "jaeger": "16686", "prometheus": "9090", "storefront": "8080"}
	if !maps.Equal(published, want) {
		t.Errorf("published ports: got %v want %v", published, want)
	}
}

// TestCompose_PrometheusCORS reads the flag as Prometheus does: as a regular expression for the whole
// origin. It must match no other site.
func TestCompose_PrometheusCORS(t *testing.T) {
	origin := ".*" // the default
	for _, flag := range compose(t).Services["prometheus"].Command {
		if value, ok := strings.CutPrefix(flag, "--web.cors.origin="); ok {
			origin = value
		}
	}
	allowed, err := regexp.Compile("^(?:" + origin + ")$")
	if err != nil {
		t.Fatal(err)
	}
	for _, site := range []string{"https://evil.example", "http://evil.example:9090", "http://localhost.evil.example:9090", "http://localhost:8081", "null"} {
		if allowed.MatchString(site) {
			t.Errorf("a page of %s: got it let in by %q", site, origin)
		}
	}
}

// TestCompose_GrafanaLogin checks that the default password of Grafana does not work.
func TestCompose_GrafanaLogin(t *testing.T) {
	environment := compose(t).Services["grafana"].Environment
	for name, want := range map[string]string{
		"GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION": "true",
		"GF_AUTH_DISABLE_LOGIN_FORM":                 "true",
		"GF_AUTH_BASIC_ENABLED":                      "false",
		"GF_AUTH_ANONYMOUS_ORG_ROLE":                 "Viewer",
	} {
		if got := environment[name]; got == nil {
			t.Errorf("%s: got nothing want %s", name, want)
		} else if *got != want {
			t.Errorf("%s: got %s want %s", name, *got, want)
		}
	}
}

// TestCompose_PinnedImages wants full versions, because a moving tag would run untested versions.
func TestCompose_PinnedImages(t *testing.T) {
	full := regexp.MustCompile(`^[a-z0-9./-]+:v?\d+\.\d+\.\d+$`)
	for name, s := range compose(t).Services {
		if s.Build == nil && !full.MatchString(s.Image) {
			t.Errorf("%s: got image %q want a full version", name, s.Image)
		}
		if s.Build != nil {
			checkDockerfile(t, filepath.Join(s.Build.Context, s.Build.Dockerfile))
		}
	}
}

// checkDockerfile wants a Dockerfile with pinned images, existing sources and a user that is not root.
func checkDockerfile(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
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
			_, value, _ := strings.Cut(flag, "=")
			given = append(given, value)
		}
		for _, value := range s.Environment {
			if value != nil {
				given = append(given, *value)
			}
		}
		for _, v := range s.Volumes {
			if v.Type == types.VolumeTypeBind {
				given = append(given, v.Target)
			}
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
