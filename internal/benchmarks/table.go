package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// table is a heading and rows of cells; the first row names the columns.
type table struct {
	heading string
	rows    [][]string
}

// formats returns the printers of a report, by the value of the flag -format.
func formats() map[string]func(io.Writer, []table) error {
	return map[string]func(io.Writer, []table) error{"table": printText, "markdown": printMarkdown}
}

// printText prints aligned columns, with names on the left and figures on the right.
func printText(w io.Writer, tables []table) error {
	for _, t := range tables {
		fmt.Fprintf(w, "%s\n\n", t.heading)
		tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		width := t.firstColumn()
		for _, row := range t.rows {
			fmt.Fprintf(tw, "%-*s\t%s\t\n", width, row[0], strings.Join(row[1:], "\t"))
		}
		if err := tw.Flush(); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	return nil
}

func (t table) firstColumn() int {
	width := 0
	for _, row := range t.rows {
		width = max(width, len(row[0]))
	}
	return width
}

func printMarkdown(w io.Writer, tables []table) error {
	for _, t := range tables {
		fmt.Fprintf(w, "### %s\n\n", t.heading)
		for i, row := range t.rows {
			fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | "))
			if i == 0 {
				fmt.Fprintf(w, "|---|%s\n", strings.Repeat("---:|", len(row)-1))
			}
		}
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
	}
	return nil
}
