package monitoring

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// A kubectlVerb has what a verb of kubectl needs: the pattern of its arguments, with a space after each, its flags with the patterns
// of their values, and those that it cannot do without.
type kubectlVerb struct {
	args  string
	flags map[string]string
	needs []string
}

const (
	anyValue   = `.+`
	noValue    = `true`
	ofResource = `(deployment|pods?|configmap)`
)

// kubectlVerbs are the verbs that the commands of alerts use, with the flags that they are likely to use.
func kubectlVerbs() map[string]kubectlVerb {
	selectors := map[string]string{"--field-selector": `[\w.]+=\S+`, "--selector": `[\w./-]+=\S+`}
	with := func(more map[string]string) map[string]string {
		for name, value := range selectors {
			more[name] = value
		}
		return more
	}
	return map[string]kubectlVerb{
		"port-forward": {args: `(deployment|pod)/[\w.-]+ \d+(:\d+)? `, flags: map[string]string{"--address": anyValue}},
		"rollout":      {args: `(restart|undo|status) deployment/[\w.-]+ `, flags: map[string]string{"--to-revision": `\d+`}},
		"get": {args: ofResource + `(/[\w.-]+| [\w.-]+)? `, flags: with(map[string]string{
			"--output": `json|yaml|wide|name|jsonpath=\{.+\}`, "--watch": noValue,
		})},
		"scale":   {args: `deployment/[\w.-]+ `, flags: map[string]string{"--replicas": `\d+`}, needs: []string{"--replicas"}},
		"delete":  {args: ofResource + `(/[\w.-]+| [\w.-]+)? `, flags: with(map[string]string{"--wait": `true|false`, "--grace-period": `\d+`})},
		"patch":   {args: ofResource + ` [\w.-]+ `, flags: map[string]string{"--patch": `\{.*\}`, "--type": `json|merge|strategic`}, needs: []string{"--patch"}},
		"replace": {flags: map[string]string{"--filename": anyValue, "--force": noValue}, needs: []string{"--filename"}},
	}
}

// parseKubectl returns what is wrong with the words of a command. All flags may stand anywhere, as in kubectl.
func parseKubectl(words []string) error {
	short := map[string]string{"-n": "--namespace", "-o": "--output", "-f": "--filename", "-l": "--selector", "-p": "--patch", "-w": "--watch"}
	given, args := map[string]string{}, []string(nil)
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		if !strings.HasPrefix(word, "-") {
			args = append(args, word)
			continue
		}
		name, value, has := strings.Cut(word, "=")
		if long, ok := short[name]; ok {
			name = long
		}
		switch {
		case name == "--watch" || name == "--force":
			value = noValue
		case !has && len(words) > 0:
			value, words = words[0], words[1:]
		}
		given[name] = value
	}
	if len(args) == 0 {
		return fmt.Errorf("no verb")
	}
	verb, ok := kubectlVerbs()[args[0]]
	if !ok {
		return fmt.Errorf("kubectl %s: no such verb in the table", args[0])
	}
	if text := strings.Join(append(args[1:], ""), " "); !matchesAll(verb.args, text) {
		return fmt.Errorf("%s: got arguments %q want %s", args[0], text, verb.args)
	}
	for name, value := range given {
		want, ok := verb.flags[name]
		if name == "--context" || name == "--namespace" {
			want, ok = `[\w.:/@-]+`, true
		}
		if !ok || !matchesAll(want, value) {
			return fmt.Errorf("%s: got flag %s %q want one of %v", args[0], name, value, verb.flags)
		}
	}
	for _, name := range verb.needs {
		if given[name] == "" {
			return fmt.Errorf("%s: got no flag %s", args[0], name)
		}
	}
	if args[0] == "delete" && len(args) == 2 && given["--selector"]+given["--field-selector"] == "" && !strings.Contains(args[1], "/") {
		return fmt.Errorf("delete: got neither a name nor a selector")
	}
	if patch := given["--patch"]; patch != "" && !json.Valid([]byte(patch)) {
		return fmt.Errorf("patch: %s is not JSON", patch)
	}
	return nil
}

func matchesAll(pattern, text string) bool {
	return regexp.MustCompile("^(?:" + pattern + ")$").MatchString(text)
}

func TestParseKubectl(t *testing.T) {
	for line, right := range map[string]bool{
		"--context eu -n shop port-forward deployment/shop 9464":      true,
		"-n shop scale deployment/shop --replicas=6":                  true,
		"-n shop scale deployment/shop --replicas 6":                  true,
		"-n shop scale deployment/shop":                               false,
		"-n shop scale deployment/shop --replicas=six":                false,
		"-n shop port-forward deployment/shop":                        false,
		"-n shop restart deployment/shop":                             false,
		"-n shop rollout restart deployment/shop --replicas=6":        false,
		"-n shop delete pods":                                         false,
		"-n shop delete pods --field-selector status.podIP=10.0.0.7":  true,
		"-n shop get configmap control --output=table":                false,
		`-n shop patch configmap control --type merge -p {"data":{}}`: true,
		`-n shop patch configmap control --type merge -p {"data":`:    false,
		"replace -f before.yaml --force":                              true,
		"-n":                                                          false,
	} {
		if err := parseKubectl(strings.Fields(line)); (err == nil) != right {
			t.Errorf("%s: got error %v want none: %v", line, err, right)
		}
	}
}
