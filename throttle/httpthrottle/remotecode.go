package httpthrottle

import (
	"reflect"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/protocol"
)

// remoteFault returns the fault for the code in an error of gRPC or Connect, anywhere in its tree, or
// FaultNone. It finds the code by the names of methods, GRPCStatus and Code, because this package imports neither
// gRPC nor Connect.
func remoteFault(err error) throttle.Fault {
	if !isSet(reflect.ValueOf(err)) {
		return throttle.FaultNone
	}
	if code, message := remoteCode(err); code > 0 {
		return protocol.FaultOfCode(code, message)
	}
	switch wrapped := err.(type) { //nolint:errorlint // it walks the tree itself
	case interface{ Unwrap() error }:
		return remoteFault(wrapped.Unwrap())
	case interface{ Unwrap() []error }:
		for _, inner := range wrapped.Unwrap() {
			if fault := remoteFault(inner); fault != throttle.FaultNone {
				return fault
			}
		}
	}
	return throttle.FaultNone
}

// remoteCode returns the code and the message of one error, or 0. The codes of Connect are those of
// gRPC.
func remoteCode(err error) (code uint32, message string) {
	v := reflect.ValueOf(err)
	if status, ok := result(v.MethodByName("GRPCStatus")); ok {
		v = status
	}
	if !isSet(v) {
		return 0, ""
	}
	c, ok := result(v.MethodByName("Code"))
	if !ok || c.Type().PkgPath() != "google.golang.org/grpc/codes" && c.Type().PkgPath() != "connectrpc.com/connect" {
		return 0, "" // another library may use the same numbers
	}
	code = uint32(c.Uint())
	if m, ok := result(v.MethodByName("Message")); ok && m.Kind() == reflect.String {
		message = m.String()
	}
	return code, message
}

func isSet(v reflect.Value) bool {
	return v.IsValid() && (v.Kind() != reflect.Pointer || !v.IsNil())
}

func result(method reflect.Value) (v reflect.Value, ok bool) {
	if !method.IsValid() || method.Type().NumIn() != 0 || method.Type().NumOut() != 1 {
		return v, false
	}
	return method.Call(nil)[0], true
}
