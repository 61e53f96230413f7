// Package programtest helps the tests of the commands.
package programtest

import (
	"net"
	"testing"
)

// TakenAddress returns an address with a listener until the test ends.
func TakenAddress(t *testing.T) string {
	t.Helper()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	return taken.Addr().String()
}
