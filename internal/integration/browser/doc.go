// Package browser tests the status page and the storefront in a real browser: it clicks and types, and
// checks what the page shows. It starts the example programs on free ports of the loopback interface.
package browser
