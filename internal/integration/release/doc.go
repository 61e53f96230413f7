// Package release builds the modules of this repository as a module proxy will serve them after they
// are tagged, and a module of a user that requires them. The builds have no replace lines, no
// workspace, and no files that are outside every module.
package release
