package monitoring

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/internal/integration/program"
)

// TestProvisionedDatasources follows every reference of the data sources: to each other, and to services of the compose file.
func TestProvisionedDatasources(t *testing.T) {
	var file struct {
		Datasources []struct {
			UID, Type, URL string
			JSONData       struct {
				TimeInterval    string `yaml:"timeInterval"`
				AlertmanagerUID string `yaml:"alertmanagerUid"`
				Exemplars       []struct {
					Name string
					UID  string `yaml:"datasourceUid"`
				} `yaml:"exemplarTraceIdDestinations"`
			} `yaml:"jsonData"`
		}
	}
	readYAML(t, "dashboards/provisioning/datasources/datasources.yml", &file)
	var prometheus struct {
		Global struct {
			Scrape string `yaml:"scrape_interval"`
		}
	}
	readYAML(t, "dashboards/prometheus/prometheus.yml", &prometheus)
	uids, services := set{"": true}, compose(t).Services
	for _, d := range file.Datasources {
		uids[d.UID] = true
		host, _, _ := strings.Cut(strings.TrimPrefix(d.URL, "http://"), ":")
		if _, ok := services[host]; !ok {
			t.Errorf("%s: got URL %s want one of a service", d.UID, d.URL)
		}
	}
	leads := set{}
	for _, d := range file.Datasources {
		for _, e := range d.JSONData.Exemplars {
			leads[e.Name+" from "+d.UID+" to "+e.UID] = true
			if !uids[e.UID] {
				t.Errorf("%s: got exemplars that lead to %s, which is not there", d.UID, e.UID)
			}
		}
		if !uids[d.JSONData.AlertmanagerUID] {
			t.Errorf("%s: got Alertmanager %s, which is not there", d.UID, d.JSONData.AlertmanagerUID)
		}
		if got, want := d.JSONData.TimeInterval, prometheus.Global.Scrape; d.Type == "prometheus" && got != want {
			t.Errorf("%s: got timeInterval %s want the scrape interval, %s", d.UID, got, want)
		}
	}
	if !leads["trace_id from prometheus to jaeger"] {
		t.Errorf("got exemplars %v want a way from prometheus to jaeger", leads)
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
