// Package overload gives two real servers more requests than they can answer. The package has only tests.
package overload
