// Package program starts real programs for tests: our examples, built as users build them, and the servers that they work with. All
// listen on free ports of the loopback interface and keep what they write in folders of the test. What they say is shown when the test
// fails. When it ends they get what Ctrl-C sends, and must leave.
package program
