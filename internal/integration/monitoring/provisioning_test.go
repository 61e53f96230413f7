package monitoring

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"

	"github.com/spillway-go/spillway/internal/integration/program"
)

// A datasourcesFile is what Grafana reads to know whom to ask.
type datasourcesFile struct {
	Datasources []struct {
		UID, Type, URL string
		JSONData       struct {
			TimeInterval string `yaml:"timeInterval"`
			Exemplars    []struct {
				Name, URL     string
				DatasourceUID string `yaml:"datasourceUid"`
			} `yaml:"exemplarTraceIdDestinations"`
			AlertmanagerUID string `yaml:"alertmanagerUid"`
		} `yaml:"jsonData"`
	}
}

func readDatasources(t testing.TB) datasourcesFile {
	t.Helper()
	var file datasourcesFile
	readYAML(t, "dashboards/provisioning/datasources/datasources.yml", &file)
	return file
}

// TestProvisionedDatasources follows every reference of the data sources: to each other, and to services of the compose file.
func TestProvisionedDatasources(t *testing.T) {
	uids, services := set{}, compose(t).Services
	file := readDatasources(t)
	for _, d := range file.Datasources {
		uids[d.UID] = true
		host, _, _ := strings.Cut(strings.TrimPrefix(d.URL, "http://"), ":")
		if _, ok := services[host]; !ok {
			t.Errorf("%s: got URL %s want one of a service", d.UID, d.URL)
		}
	}
	if !uids["prometheus"] || !uids["jaeger"] {
		t.Errorf("got data sources %v want prometheus and jaeger", uids)
	}
	for _, d := range file.Datasources {
		if d.Type != "prometheus" {
			continue
		}
		leads := false
		for _, e := range d.JSONData.Exemplars {
			leads = leads || e.Name == "trace_id" && e.DatasourceUID == "jaeger"
			if e.DatasourceUID != "" && !uids[e.DatasourceUID] {
				t.Errorf("%s: got exemplars that lead to %s, which is not there", d.UID, e.DatasourceUID)
			}
		}
		if !leads {
			t.Errorf("%s: got no way from trace_id to jaeger", d.UID)
		}
		if uid := d.JSONData.AlertmanagerUID; uid != "" && !uids[uid] {
			t.Errorf("%s: got Alertmanager %s, which is not there", d.UID, uid)
		}
		if got, want := d.JSONData.TimeInterval, scrapeInterval(t); got != want {
			t.Errorf("%s: got timeInterval %s want the scrape interval, %s", d.UID, got, want)
		}
	}
}

// TestProvisioningFolders checks that the folder has all folders that Grafana looks for: the mount hides those of the image.
func TestProvisioningFolders(t *testing.T) {
	for _, name := range []string{"alerting", "dashboards", "datasources", "plugins"} {
		entries, err := os.ReadDir(program.File(t, "dashboards/provisioning/"+name))
		if err != nil || len(entries) != 1 {
			t.Errorf("%s: got %d files and error %v want one, which keeps the folder", name, len(entries), err)
		}
	}
}

// scrapeInterval returns how often the Prometheus of the compose file scrapes.
func scrapeInterval(t testing.TB) string {
	t.Helper()
	var file struct {
		Global struct {
			Scrape string `yaml:"scrape_interval"`
		}
	}
	readYAML(t, "dashboards/prometheus/prometheus.yml", &file)
	return file.Global.Scrape
}

// mustDuration reads a duration as Prometheus writes them.
func mustDuration(t testing.TB, text string) time.Duration {
	t.Helper()
	d, err := model.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(d)
}

// TestProvisionedDashboards makes sure that Grafana finds the dashboards, each once, and takes nothing else for one.
func TestProvisionedDashboards(t *testing.T) {
	var file struct {
		Providers []struct{ Options struct{ Path string } }
	}
	readYAML(t, "dashboards/provisioning/dashboards/dashboards.yml", &file)
	found := map[string]string{}
	for _, p := range file.Providers {
		folder := mounted(compose(t).Services["grafana"], p.Options.Path)
		err := filepath.WalkDir(folder, func(name string, _ os.DirEntry, err error) error {
			if err != nil || filepath.Ext(name) != ".json" {
				return err
			}
			if first := found[filepath.Base(name)]; first != "" {
				return fmt.Errorf("%s is there twice: %s", name, first)
			}
			found[filepath.Base(name)] = name
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", p.Options.Path, err)
		}
	}
	boards := readDashboards(t)
	for name := range boards {
		if found[name] == "" {
			t.Errorf("Grafana does not find %s", name)
		}
	}
	if len(found) != len(boards) {
		t.Errorf("got %d dashboards want %d: %v", len(found), len(boards), found)
	}
}
