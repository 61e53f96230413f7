package sources

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/control"
	"github.com/spillway-go/spillway/throttle/statusz"
)

// TestControl_states from no override to a file that is refused.
func TestControl_states(t *testing.T) {
	c := throttle.Must(control.New(control.Config{}))
	defer c.Close()
	source := Control(c)
	want(t, source.Status(), "control without a file", "settings of the code", statusz.OK, map[string]float64{"by apply": 0, "by file": 0, "by http": 0})
	off := control.Document{Throttles: map[string]*control.Throttle{"stock": {Terms: control.Terms{Optional: true, Reason: "INC-7"}, Patch: throttle.Patch{Mode: new(throttle.ModeOff)}}}}
	if _, err := c.Apply(t.Context(), off); err != nil {
		t.Fatal(err)
	}
	want(t, source.Status(), "control without a file", "stock: mode off (apply, INC-7)", statusz.Warn, map[string]float64{"by apply": 1, "applied": 1})
	path := filepath.Join(t.TempDir(), "control.json")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Watch(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	want(t, source.Status(), "control "+path, "file refused; stock: mode off (apply, INC-7)", statusz.Bad, map[string]float64{"by file": 0, "refused": 1})
}
