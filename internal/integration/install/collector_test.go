package install

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle"
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

// TestCollector checks that the settings are known, that each component is in a pipeline, and that the events by which it keeps traces are
// those of otelthrottle.
func TestCollector(t *testing.T) {
	text := throttle.Must(os.ReadFile(program.File(t, "dashboards/collector/collector.yaml")))
	var kinds map[string]map[string]any // of components, by name
	var file struct {
		Service struct {
			Extensions []string
			Pipelines  map[string]map[string][]string
		}
	}
	if err := errors.Join(yaml.Unmarshal(text, &kinds), yaml.Unmarshal(text, &file)); err != nil {
		t.Fatal(err)
	}
	delete(kinds, "service")
	used := map[string]bool{}
	for _, name := range file.Service.Extensions {
		used["extensions "+name] = true
	}
	for signal, p := range file.Service.Pipelines {
		if !slices.Contains([]string{"metrics", "traces", "logs"}, signal) || len(p["receivers"]) == 0 || len(p["exporters"]) == 0 {
			t.Errorf("pipeline %s: want metrics, traces or logs, with receivers and exporters", signal)
		}
		for kind, names := range p {
			for _, name := range names {
				used[kind+" "+name] = true
			}
		}
	}
	for kind, components := range kinds {
		for name, value := range components {
			of, _, _ := strings.Cut(name, "/")
			for _, path := range keysOf(value, kind+"."+of) {
				if !slices.Contains(strings.Fields(collectorKeys), path) {
					t.Errorf("there is no setting %s", path)
				}
			}
			if !used[kind+" "+name] {
				t.Errorf("%s is in no pipeline", name)
			}
			delete(used, kind+" "+name)
		}
	}
	for name := range used {
		t.Errorf("there is no %s", name)
	}
	names := throttle.Must(os.ReadFile(program.File(t, "otelthrottle/names.go")))
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
