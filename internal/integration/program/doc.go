// Package program starts programs for tests: the examples, built as users build them, and servers
// such as Redis. Each listens on a free port of the loopback interface and writes to a temporary
// folder of the test. If the test fails, it logs the output of its programs. When the test ends,
// each program is interrupted as by Ctrl-C and must end without an error.
package program
