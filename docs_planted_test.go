package spillway_test

import (
	"slices"
	"strings"
	"testing"
)

// TestPlantedBlocksAreFound plants blocks that each check must refuse, beside one that it must not.
func TestPlantedBlocksAreFound(t *testing.T) {
	known := checkers(t)
	for _, tt := range []struct {
		language, text string
		want           string // part of the complaint; empty for a good block
	}{
		{"go", "th := throttle.Must(throttle.New(throttle.Config{Name: \"recommendations\"}))\n", ""},
		{"go", "th := throttle.Must(throttle.New(throttle.Config{Name: \"recommendation\"}))\n", "in no function of an example"},
		{"go", "", "in no function of an example"},
		{"text", "[apples pears] <nil>\n", ""},
		{"text", "[apples plums] <nil>\n", "output that no example has"},

		{"sh", "go run ./examples/simulate -scenario over5 # a comment\n\n", ""},
		{"sh", "go run ./examples/simulator\n", "no folder examples/simulator"},
		{"sh", "go run ./examples/simulate -scenarios over5\n", "a flag that the program does not have"},
		{"sh", "go test ./...\n", ""},
		{"sh", "go test\n", "no package"},
		{"sh", "go mend ./...\n", "a use of go"},
		{"sh", "(cd internal/integration && go test -run '^$' -bench 'BenchmarkRedisBucket$' ./stores)\n", ""},
		{"sh", "(cd internal/integration && go test -bench 'BenchmarkRedisBuckets$' ./stores)\n", "a test that is not there"},
		{"sh", "cd internal/benchmark && go test ./...\n", "a folder that does not exist"},
		{"sh", "go get " + module + "/throttle/redisstore\n", ""},
		{"sh", "go get " + module + "/throttle/memstore\n", "a module that is not ours"},
		{"sh", "go get example.com/spillway\n", "a module that is not ours"},
		{"sh", "SPILLWAY_REQUIRE_SERVICES=1 make test\n", ""},
		{"sh", "make tests\n", "no target tests"},
		{"sh", "docker compose up\n", ""},
		{"sh", "docker run spillway\n", "docker without compose"},
		{"sh", "promtool check rules dashboards/rules/alerts.yml\n", ""},
		{"sh", "promtool test rules dashboards/rules/*_tests.yml\n", "no file"},
		{"sh", "sed -i.bak -E 's/a/b/g' dashboards/rules/alert.yml\n", "no file"},
		{"sh", "git clone https://" + module + " && cd spillway && make demo\n", ""},
		{"sh", "git push\n", "another use of git"},
		{"sh", "curl http://localhost:8080\n", "a command that this test does not know"},
		{"", "make tests\n", "no target tests"},
		{"", "what a program printed\n", ""},

		{"yaml", "providers:\n  - name: throttle # ours\n", ""},
		{"yaml", "providers:\n  - name: spillway\n", "not out of one of our files"},
		{"promql", "count by (job, instance) (last_over_time(throttle_calls_total[5m])) > 1000\n", ""},
		{"promql", "max(throttle_rejection_probability_ratio)\n", ""},
		{"promql", "throttle:call_duration:p99_5m > scalar(throttle:latency_objective:seconds)\n", "no dashboard and no rule"},
		{"promql", "sum(rate(throttle_calls[5m]))\n", "no dashboard and no rule"},
		{"sql", "ALTER TABLE spillway_bucket SET UNLOGGED;\n", ""},
		{"sql", "ALTER TABLE spillway_buckets SET UNLOGGED;\n", "a table that no store makes"},
		{"rust", "fn main() {}\n", "of a language that this test can check"},
	} {
		got := checkBlock(known, block{page: "docs/planted.md", language: tt.language, text: tt.text})
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s %q: got %q want %q", tt.language, tt.text, got, tt.want)
		}
	}
}

// TestBlocksOfAPage finds the blocks, and one that does not end.
func TestBlocksOfAPage(t *testing.T) {
	blocks := blocksOf("p.md", "# A\n\n```go\na\n\tb\n```\ntext\n   ```\nc\n   ```\n```sh\nd")
	if len(blocks) != 3 || blocks[0] != (block{"p.md", "go", "a\n\tb\n", 3}) || blocks[1].language != "" || blocks[1].text != "c\n" {
		t.Errorf("got %+v", blocks)
	}
	if got := checkBlock(checkers(t), blocks[2]); !strings.Contains(got, "without an end") {
		t.Errorf("a block without an end: got %q", got)
	}
}

// TestAbridged: a runbook may leave lines out, and may not change, add or reorder any.
func TestAbridged(t *testing.T) {
	whole := []string{"a", "b", "c"}
	for part, want := range map[string]bool{"a": true, "a c": true, "a b c": true, "": false, "c a": false, "a d": false, "a a": false} {
		if got := abridged(strings.Fields(part), whole); got != want {
			t.Errorf("%q of %v: got %v want %v", part, whole, got, want)
		}
	}
}

func TestPlantedNamesAreFound(t *testing.T) {
	page := "Use `throttle.Do`, `bucket.Allow` and `Config.Classifier`, and `rate.Allow`.\n" +
		"<!-- bucket.None -->\n\n| x | Spillway | y |\n|---|---|---|\n| `backoff.Retry` | `backoff.Do` | `Limiter.Reserve` |\n\n`backoff.Permanent`\n"
	missing, all := unknown(exported(t), prose(page))
	if want := []string{"bucket.Allow", "Config.Classifier", "Limiter.Reserve", "backoff.Permanent"}; !slices.Equal(missing, want) || all != 6 {
		t.Errorf("got %q of %d want %q of 6", missing, all, want)
	}
}

func TestPlantedLinksAreFound(t *testing.T) {
	page := "[a](README.md) [b](READYOU.md) `f(x)[0](y)` [c](CONTRIBUTING.md#commits) [d](CONTRIBUTING.md#comits) [e](https://go.dev)"
	var broken []string
	for _, target := range links(page) {
		if brokenLink("README.md", target) != "" {
			broken = append(broken, target)
		}
	}
	if want := []string{"READYOU.md", "CONTRIBUTING.md#comits"}; !slices.Equal(broken, want) {
		t.Errorf("got %q want %q", broken, want)
	}
}
