package main

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// good returns what a soak finds in which all is well.
func good() findings {
	return findings{took: time.Minute, wishes: 9, freezes: 3, children: []finding{{
		example: batch, samples: run100(func(float64) float64 { return 1 }), scrapes: 60, pages: 90, events: 60, annoyed: 20,
		evidence: []figure{{"throttled", 5}}, exit: "0",
	}}}
}

func TestComplaints(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(f *findings, c *finding)
		judge judgement
		want  string // in the only complaint; empty for none
	}{
		{"well", func(*findings, *finding) {}, judgeAll, ""},
		{"nobody was frozen", func(f *findings, _ *finding) { f.freezes = 0 }, judgeSound, "nothing is proved: 0 freezes"},
		{"nothing was changed", func(f *findings, _ *finding) { f.wishes = 0 }, judgeSound, "changed 0 times"},
		{"a wish was refused", func(f *findings, _ *finding) { f.wrong = []string{"/control: 400"} }, judgeSound, "/control: 400"},
		{"no trouble", func(_ *findings, c *finding) { c.evidence[0].value = 0 }, judgeSound, "batch: nothing is proved: throttled is 0"},
		{"no scrapes", func(_ *findings, c *finding) { c.scrapes = 0 }, judgeSound, "batch: nothing is proved: scrapes is 0"},
		{"no pages", func(_ *findings, c *finding) { c.pages = 0 }, judgeSound, "pages is 0"},
		{"no events", func(_ *findings, c *finding) { c.events = 0 }, judgeSound, "events is 0"},
		{"no annoyances", func(_ *findings, c *finding) { c.annoyed = 0 }, judgeSound, "annoyances is 0"},
		{"a race", func(_ *findings, c *finding) { c.said.alarms = []string{"WARNING: DATA RACE"} }, judgeSound, "batch: WARNING: DATA RACE"},
		{"a fall", func(_ *findings, c *finding) { c.wrong = []string{"a fell from 2 to 1"} }, judgeSound, "batch: a fell"},
		{"a bad end", func(_ *findings, c *finding) { c.end(report{end: "oh"}, errEarly) }, judgeSound, "batch: its end: " + errEarly.Error()},
		{"a leak", leak, judgeAll, "batch: fds grew"},
		{"a leak that is not asked for", leak, judgeSound, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := good()
			tt.spoil(&f, &f.children[0])
			got := f.complaints(tt.judge)
			if tt.want == "" && len(got) > 0 || tt.want != "" && (len(got) != 1 || !strings.Contains(got[0], tt.want)) {
				t.Errorf("got %q want one that has %q, if any", got, tt.want)
			}
		})
	}
}

func leak(_ *findings, c *finding) {
	for i := range c.samples {
		c.samples[i].fds += float64(i)
	}
}

func TestEvidenceOf(t *testing.T) {
	e, err := parseExposition([]byte(scraped))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := evidenceOf(storefront, e), []figure{{"shed", 3}, {"rejected", 0}}; !slices.Equal(got, want) {
		t.Errorf("storefront: got %v want %v", got, want)
	}
	for _, example := range []string{storefront, webhooks, batch} {
		if len(evidenceOf(example, exposition{})) == 0 {
			t.Errorf("%s has nothing to prove", example)
		}
	}
}

func TestTable(t *testing.T) {
	f := good()
	leak(&f, &f.children[0])
	for as, want := range map[format][]string{
		asText:     {"1m0s without the race detector; storefront changed 9 times; 3 freezes of 2s\n", "\nbatch    RSS MiB      100.0        100.0   100.0  100.0  114.0        flat\n", "GROWN"},
		asMarkdown: {"\n| --- |", "\n| batch | RSS MiB | 100.0 | 100.0 | 100.0 | 100.0 | 114.0 | flat |\n", "| 219.0 | 180.5 | GROWN |", "| throttled 5 | 0 |\n"},
	} {
		got := f.table(as)
		for _, part := range want {
			if !strings.Contains(got, part) {
				t.Errorf("as %s: got\n%s\nwant in it %s", as, got, part)
			}
		}
	}
	f.race = true
	if got, want := f.table(asText), "114.0        not judged\n"; !strings.Contains(got, want) {
		t.Errorf("with the race detector: got\n%s\nwant in it %s", got, want)
	}
}
