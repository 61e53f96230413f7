package program

import (
	"syscall"
	"testing"
)

func TestASignalEndsTheContext(t *testing.T) {
	ctx := Interruptible()
	if err := ctx.Err(); err != nil {
		t.Fatalf("before the signal: got error %v want nil", err)
	}
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
}
