package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"go.yaml.in/yaml/v3"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle"
)

type object struct {
	Kind     string
	Metadata struct {
		Name, Namespace     string
		Labels, Annotations map[string]string
	}
	Spec map[string]any
	Data map[string]string
}

// objects are those of a release, by kind and name.
type objects map[string]object

// add reads the documents of a YAML text.
func (all objects) add(t *testing.T, text []byte) {
	t.Helper()
	documents := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var o object
		err := documents.Decode(&o)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%v in\n%.2000s", err, text)
		}
		if o.Kind != "" {
			all[o.Kind+" "+o.Metadata.Name] = o
		}
	}
}

// rules returns the text of a file with all groups of rules.
func (all objects) rules(t *testing.T) []byte {
	t.Helper()
	return throttle.Must(json.Marshal(all["PrometheusRule spillway"].Spec)) // which is YAML
}

// chart renders the chart with values, in the namespace monitoring.
func chart(t *testing.T, values string) objects {
	t.Helper()
	rendered := objects{}
	for _, text := range throttle.Must(render(t, values)) {
		rendered.add(t, []byte(text))
	}
	return rendered
}

// render returns the files of the chart with values.
func render(t *testing.T, values string) (map[string]string, error) {
	t.Helper()
	program.File(t, "dashboards") // which the chart has by a link
	c := throttle.Must(loader.Load(program.File(t, "charts/spillway-monitoring")))
	given := throttle.Must(chartutil.ReadValues([]byte(values)))
	release := chartutil.ReleaseOptions{Name: "spillway", Namespace: "monitoring", IsInstall: true}
	all := throttle.Must(chartutil.ToRenderValues(c, given, release, chartutil.DefaultCapabilities))
	return engine.Render(c, all)
}

// base builds a folder as kubectl kustomize does.
func base(t *testing.T, folder string) objects {
	t.Helper()
	found := throttle.Must(krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder))
	text := throttle.Must(found.AsYaml())
	built := objects{}
	built.add(t, text)
	return built
}
