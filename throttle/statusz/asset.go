package statusz

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"strings"
)

// The page's files. They need no build and nothing from elsewhere.
//
//go:embed page
var files embed.FS

// assemble puts the page together, and returns it with a security policy that lets exactly its own style and script pass.
func assemble() (html []byte, policy string) {
	style := read("page.css")
	script := "(() => {\n\"use strict\";\n" + read(
		"number.js", "model.js", "dom.js", "spark.js", "readout.js", "card.js", "details.js", "sources.js", "list.js", "header.js",
		"stream.js", "page.js",
	) + "})();\n"
	page := strings.NewReplacer("{{page.css}}", style, "{{page.js}}", script).Replace(read("page.html"))
	policy = strings.Join([]string{
		"default-src 'none'",
		"script-src " + hashOf(script),
		"style-src " + hashOf(style),
		"connect-src 'self'",
		"img-src data:", // the icon
		"base-uri 'none'",
		"form-action 'none'",
		"frame-ancestors 'none'",
		"require-trusted-types-for 'script'",
		"trusted-types 'none'",
	}, "; ")
	return []byte(page), policy
}

// read returns files of the page, one after the other.
func read(names ...string) string {
	var all strings.Builder
	for _, name := range names {
		text, err := files.ReadFile("page/" + name)
		if err != nil {
			panic(err) // no: they are embedded, and every test makes a page
		}
		all.Write(text)
	}
	return all.String()
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
