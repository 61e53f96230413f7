// Package recipes runs the recipes of docs/recipes.md with the real frameworks. Its module requires
// them, so that no module of users does.
package recipes
