package main

import (
	"fmt"
	"io"
	"strings"
)

// table is a heading and rows of cells; the first row names the columns.
type table struct {
	heading string
	rows    [][]string
}

// printTables prints tables in Markdown, with names on the left and figures on the right.
func printTables(w io.Writer, tables []table) error {
	var text strings.Builder
	for _, t := range tables {
		fmt.Fprintf(&text, "### %s\n\n", t.heading)
		widths := make([]int, len(t.rows[0]))
		for _, row := range t.rows {
			for i, cell := range row {
				widths[i] = max(widths[i], len(cell))
			}
		}
		for n, row := range t.rows {
			fmt.Fprintf(&text, "| %-*s |", widths[0], row[0])
			for i, cell := range row[1:] {
				fmt.Fprintf(&text, " %*s |", widths[i+1], cell)
			}
			if text.WriteString("\n"); n == 0 {
				fmt.Fprintf(&text, "|---|%s\n", strings.Repeat("---:|", len(row)-1))
			}
		}
		text.WriteString("\n")
	}
	_, err := io.WriteString(w, text.String())
	return err
}
