package main

import (
	"encoding/csv"
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

// formats are the ways to print a report, by the name of the flag.
func formats() map[string]func(io.Writer, []table) error {
	return map[string]func(io.Writer, []table) error{"table": printText, "markdown": printMarkdown, "csv": printCSV}
}

// printText aligns the columns, names to the left and figures to the right.
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

// firstColumn returns the length of the longest first cell.
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

// printCSV puts the heading in front of each row, so that all tables are one file.
func printCSV(w io.Writer, tables []table) error {
	cw := csv.NewWriter(w)
	for _, t := range tables {
		for _, row := range t.rows {
			if err := cw.Write(append([]string{t.heading}, row...)); err != nil {
				return err
			}
		}
	}
	cw.Flush()
	return cw.Error()
}
