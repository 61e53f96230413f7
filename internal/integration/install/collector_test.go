package install

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/spillway-go/spillway/internal/integration/program"
)

// collectorKeys are the settings of the Collector that the example uses. The modules of the Collector are not needed for a test
// then: they are many.
const collectorKeys = `
	receivers.otlp.protocols.grpc.endpoint receivers.otlp.protocols.http.endpoint processors.batch extensions.health_check
	processors.memory_limiter.check_interval processors.memory_limiter.limit_percentage processors.memory_limiter.spike_limit_percentage
	processors.transform.error_mode processors.transform.metric_statements.context processors.transform.metric_statements.statements
	processors.tail_sampling.decision_wait processors.tail_sampling.num_traces
	processors.tail_sampling.policies.name processors.tail_sampling.policies.type
	processors.tail_sampling.policies.and.and_sub_policy.name processors.tail_sampling.policies.and.and_sub_policy.type
	processors.tail_sampling.policies.and.and_sub_policy.ottl_condition.error_mode
	processors.tail_sampling.policies.and.and_sub_policy.ottl_condition.spanevent
	processors.tail_sampling.policies.and.and_sub_policy.rate_limiting.spans_per_second
	processors.tail_sampling.policies.status_code.status_codes processors.tail_sampling.policies.latency.threshold_ms
	processors.tail_sampling.policies.probabilistic.sampling_percentage
	exporters.prometheus.endpoint exporters.prometheus.enable_open_metrics exporters.prometheus.metric_expiration
	exporters.otlp.endpoint exporters.otlp.tls.insecure
`

// keysOf returns the path of each setting below a value, without the numbers of lists.
func keysOf(value any, path string) (paths []string) {
	switch x := value.(type) {
	case map[string]any:
		for key, below := range x {
			paths = append(paths, keysOf(below, path+"."+key)...)
		}
	case []any:
		for _, one := range x {
			paths = append(paths, keysOf(one, path)...)
		}
	}
	if paths == nil {
		return []string{path}
	}
	return paths
}

type collectorFile struct {
	kinds   map[string]map[string]any // of components, by name
	service struct {
		Extensions []string
		Pipelines  map[string]map[string][]string
	}
}

func readCollector(text []byte) (f collectorFile, err error) {
	var all map[string]yaml.Node
	if err := yaml.Unmarshal(text, &all); err != nil {
		return f, err
	}
	f.kinds = map[string]map[string]any{}
	for name, node := range all {
		if name == "service" {
			err = node.Decode(&f.service)
		} else {
			components := map[string]any{}
			err = node.Decode(&components)
			f.kinds[name] = components
		}
		if err != nil {
			return f, err
		}
	}
	return f, nil
}

// check returns settings that the Collector does not have, and names that no pipeline or component has.
func (f collectorFile) check() (wrong []string) {
	used := map[string]bool{}
	for _, name := range f.service.Extensions {
		used["extensions "+name] = true
	}
	for signal, p := range f.service.Pipelines {
		if !slices.Contains([]string{"metrics", "traces", "logs"}, signal) || len(p["receivers"]) == 0 || len(p["exporters"]) == 0 {
			wrong = append(wrong, "pipeline "+signal+": want metrics, traces or logs, with receivers and exporters")
		}
		for kind, names := range p {
			for _, name := range names {
				used[kind+" "+name] = true
			}
		}
	}
	for kind, components := range f.kinds {
		for name, value := range components {
			of, _, _ := strings.Cut(name, "/")
			for _, path := range keysOf(value, kind+"."+of) {
				if !slices.Contains(strings.Fields(collectorKeys), path) {
					wrong = append(wrong, "no setting "+path)
				}
			}
			if !used[kind+" "+name] {
				wrong = append(wrong, name+" is in no pipeline")
			}
			delete(used, kind+" "+name)
		}
	}
	for name := range used {
		wrong = append(wrong, "there is no "+name)
	}
	slices.Sort(wrong)
	return wrong
}

// TestCollector checks the example, and that the events by which it keeps traces are those of otelthrottle.
func TestCollector(t *testing.T) {
	text := must(os.ReadFile(program.File(t, "dashboards/collector/collector.yaml")))
	f, err := readCollector(text)
	if wrong := f.check(); err != nil || len(wrong) > 0 {
		t.Errorf("got error %v and %q", err, wrong)
	}
	names := must(os.ReadFile(program.File(t, "otelthrottle/names.go")))
	events := regexp.MustCompile(`- name == ("[^"]+")`).FindAllSubmatch(text, -1)
	for _, m := range events {
		if !strings.Contains(string(names), "= "+string(m[1])) {
			t.Errorf("otelthrottle has no event %s", m[1])
		}
	}
	if len(events) < 4 {
		t.Errorf("got %d events want four", len(events))
	}
}
