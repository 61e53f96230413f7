// Package browser tests our pages in a real browser: what a person sees and does, asserted on what the page shows. It starts
// the example programs as a user would, on free ports of the loopback interface.
package browser
