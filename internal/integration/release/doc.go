// Package release builds the modules of this repository as a module proxy would serve them once they are tagged, and a stranger's module that
// requires them: without this repository's replace lines, its workspace, and the files that no module holds.
package release
