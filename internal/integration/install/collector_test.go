package install

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/spillway-go/spillway/internal/integration/program"
)

// A schema has the keys of an object, and of the objects in a list; nil is a value. The modules of the Collector are not needed
// for a test then: they are many.
type schema map[string]schema

// collectorComponents are the components of the Collector that the example uses, with the keys that it could use, by kind.
func collectorComponents() map[string]map[string]schema {
	endpoint := schema{"endpoint": nil, "tls": {"insecure": nil, "ca_file": nil, "cert_file": nil, "key_file": nil}, "headers": {}}
	statements := schema{"context": nil, "conditions": nil, "statements": nil, "error_mode": nil}
	policy := schema{
		"name": nil, "type": nil, "status_code": {"status_codes": nil}, "latency": {"threshold_ms": nil, "upper_threshold_ms": nil},
		"probabilistic": {"hash_salt": nil, "sampling_percentage": nil}, "rate_limiting": {"spans_per_second": nil},
		"ottl_condition": {"error_mode": nil, "span": nil, "spanevent": nil},
	}
	policies := maps.Clone(policy)
	policies["and"] = schema{"and_sub_policy": policy}
	return map[string]map[string]schema{
		"receivers": {"otlp": {"protocols": {"grpc": endpoint, "http": endpoint}}},
		"processors": {
			"memory_limiter": {"check_interval": nil, "limit_mib": nil, "spike_limit_mib": nil, "limit_percentage": nil, "spike_limit_percentage": nil},
			"batch":          {"timeout": nil, "send_batch_size": nil, "send_batch_max_size": nil},
			"transform":      {"error_mode": nil, "metric_statements": statements, "trace_statements": statements},
			"tail_sampling":  {"decision_wait": nil, "num_traces": nil, "expected_new_traces_per_sec": nil, "policies": policies},
		},
		"exporters": {
			"prometheus": {
				"endpoint": nil, "namespace": nil, "const_labels": {}, "send_timestamps": nil, "metric_expiration": nil, "enable_open_metrics": nil,
				"add_metric_suffixes": nil, "resource_to_telemetry_conversion": {"enabled": nil},
			},
			"otlp": endpoint,
		},
		"extensions": {"health_check": {"endpoint": nil, "path": nil}},
	}
}

// check returns the keys of a value that it has no room for.
func (s schema) check(value any, where string) (wrong []string) {
	switch x := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(x)) {
			below, ok := s[key]
			if !ok {
				wrong = append(wrong, where+": no key "+key)
				continue
			}
			wrong = append(wrong, below.check(x[key], where+"."+key)...)
		}
	case []any:
		for i, one := range x {
			wrong = append(wrong, s.check(one, fmt.Sprintf("%s[%d]", where, i))...)
		}
	default:
		if s != nil && x != nil {
			wrong = append(wrong, fmt.Sprintf("%s is %v: want an object", where, x))
		}
	}
	return wrong
}

// A collectorFile is a configuration of the Collector.
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

// check returns components that do not exist, keys that they do not have, and names that no pipeline or component has.
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
			s, ok := collectorComponents()[kind][of]
			if !ok {
				wrong = append(wrong, kind+": no component "+name)
				continue
			}
			if wrong = append(wrong, s.check(value, name)...); !used[kind+" "+name] {
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
	text, err := os.ReadFile(program.File(t, "dashboards/collector/collector.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := readCollector(text)
	if wrong := f.check(); err != nil || len(wrong) > 0 {
		t.Errorf("got error %v and %q", err, wrong)
	}
	names, err := os.ReadFile(program.File(t, "otelthrottle/names.go"))
	if err != nil {
		t.Fatal(err)
	}
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

// TestCollector_finds plants what is wrong.
func TestCollector_finds(t *testing.T) {
	text, err := os.ReadFile(program.File(t, "dashboards/collector/collector.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for old, tt := range map[string][2]string{
		"decision_wait: 10s":                {"decision_wat: 10s", "tail_sampling: no key decision_wat"},
		"threshold_ms: 1000":                {"threshold: 1s", "tail_sampling.policies[2].latency: no key threshold"},
		"rate_limiting: { spans":            {"rate_limiting: { span", "and.and_sub_policy[1].rate_limiting: no key span"},
		"  batch: {}":                       {"  batcher: {}", "processors: no component batcher"},
		"exporters: [prometheus]":           {"exporters: []", "prometheus is in no pipeline"},
		"processors: [memory_limiter, tail": {"processors: [memory, tail", "there is no processors memory"},
	} {
		planted := strings.Replace(string(text), old, tt[0], 1)
		f, err := readCollector([]byte(planted))
		if got := strings.Join(f.check(), "\n"); err != nil || planted == string(text) || !strings.Contains(got, tt[1]) {
			t.Errorf("%s: got error %v and %s want %s", tt[0], err, got, tt[1])
		}
	}
}
