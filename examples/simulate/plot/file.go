package plot

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Write draws the figure into a file, as SVG or PNG according to its extension. A file that exists is replaced, but not before
// the whole figure has been drawn.
func Write(path string, f Figure) error {
	if err := checkExtension(path); err != nil {
		return err
	}
	var drawn bytes.Buffer
	if err := Draw(&drawn, filepath.Ext(path), f); err != nil {
		return err
	}
	return os.WriteFile(path, drawn.Bytes(), 0o644)
}

// Draw writes the figure as SVG or PNG, as the extension ".svg" or ".png" says. The same figure always gives the same bytes.
func Draw(w io.Writer, extension string, f Figure) error {
	if err := f.validate(); err != nil {
		return err
	}
	l := layOut(newPen(nil), f)
	switch strings.ToLower(extension) {
	case ".svg":
		canvas := vgsvg.New(l.width, l.height)
		drawPage(newPen(canvas), f, l)
		return writeSVG(w, canvas, f.Title)
	case ".png":
		canvas := vgimg.PngCanvas{Canvas: vgimg.New(l.width, l.height)}
		drawPage(newPen(canvas), f, l)
		_, err := canvas.WriteTo(w)
		return err
	}
	return errExtension(extension)
}

// writeSVG completes what the canvas writes: fonts of the same widths for those who do not have Liberation, and a title for
// those who do not see the picture.
func writeSVG(w io.Writer, canvas *vgsvg.Canvas, title string) error {
	var drawn bytes.Buffer
	if _, err := canvas.WriteTo(&drawn); err != nil {
		return err
	}
	const family = "font-family:Liberation Sans"
	text := strings.ReplaceAll(drawn.String(), family, family+", Arial, Helvetica, sans-serif")
	head, body, _ := strings.Cut(text, "\n<g ")
	_, err := fmt.Fprintf(w, "%s\n<title>%s</title>\n<g %s", head, html.EscapeString(title), body)
	return err
}

// CheckPath tells why [Write] could not write to path: an extension other than .svg and .png, or a place that cannot be written
// to. It leaves everything as it was.
func CheckPath(path string) error {
	if err := checkExtension(path); err != nil {
		return err
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return checkFolder(filepath.Dir(path))
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a file", path)
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return file.Close()
}

// checkFolder finds out whether a file can be made, by making one: permissions alone do not tell.
func checkFolder(folder string) error {
	info, err := os.Stat(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no folder %s", folder)
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder", folder)
	}
	probe, err := os.CreateTemp(folder, ".plot-*")
	if err != nil {
		return fmt.Errorf("cannot write to folder %s: %w", folder, err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

func checkExtension(path string) error {
	switch extension := filepath.Ext(path); strings.ToLower(extension) {
	case ".svg", ".png":
		return nil
	default:
		return errExtension(extension)
	}
}

func errExtension(extension string) error {
	if extension == "" {
		return errors.New("no extension: want .svg or .png")
	}
	return fmt.Errorf("extension %s: want .svg or .png", extension)
}
