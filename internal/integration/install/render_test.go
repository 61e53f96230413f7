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
)

// An object is one of Kubernetes.
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
	text, err := json.Marshal(all["PrometheusRule spillway"].Spec) // which is YAML
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// chart renders the chart with values, in the namespace monitoring.
func chart(t *testing.T, values string) objects {
	t.Helper()
	program.File(t, "dashboards") // which the chart has by a link
	c, err := loader.Load(program.File(t, "charts/spillway-monitoring"))
	if err != nil {
		t.Fatal(err)
	}
	given, err := chartutil.ReadValues([]byte(values))
	if err != nil {
		t.Fatal(err)
	}
	release := chartutil.ReleaseOptions{Name: "spillway", Namespace: "monitoring", IsInstall: true}
	all, err := chartutil.ToRenderValues(c, given, release, chartutil.DefaultCapabilities)
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.Render(c, all)
	if err != nil {
		t.Fatal(err)
	}
	rendered := objects{}
	for _, text := range files {
		rendered.add(t, []byte(text))
	}
	return rendered
}

// base builds a folder as kubectl kustomize does.
func base(t *testing.T, folder string) objects {
	t.Helper()
	found, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		t.Fatal(err)
	}
	text, err := found.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	built := objects{}
	built.add(t, text)
	return built
}
