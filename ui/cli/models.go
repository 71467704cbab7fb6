package cli

// How models are listed.

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"artoo/provider"
	"artoo/ui/sanitize"
)

// listedModel is a model that can be asked. Its JSON is what `artoo models --json`
// prints, a line each.
type listedModel struct {
	provider.ModelInfo
	Default bool   `json:"default"` // it answers when only the provider is named
	Source  string `json:"source"`  // who says that there is such a model: provider, catalogue, config
}

// printModels prints the list in columns, or as JSON. The first is what -m takes.
func printModels(w io.Writer, list []listedModel, asJSON bool) error {
	if asJSON {
		return printEach(w, list, true, listedModel.About)
	}
	rows := [][]string{{"MODEL", "WINDOW", "REPLY", "$/M IN", "$/M OUT", "CACHED", ""}}
	for _, m := range list {
		in, out, cached := "?", "?", "?"
		if p := m.Price; p != nil {
			in, out, cached = price(p.Input), price(p.Output), price(p.CacheRead)
			if p.CacheRead == 0 {
				cached = in
			}
		}
		remarks := m.Can()
		if m.Default {
			remarks += ", default"
		}
		if m.Guess {
			remarks += ", guessed"
		}
		rows = append(rows, []string{
			sanitize.Text(m.Provider+"/"+m.ID, sanitize.Line), provider.ShortCount(m.Context),
			provider.ShortCount(m.MaxOutput), in, out, cached, strings.TrimPrefix(remarks, ", "),
		})
	}
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, cell := range r {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, r := range rows {
		line := ""
		for i, cell := range r {
			width := widths[i] // numbers stand at the right
			if i == 0 || i == len(r)-1 {
				width = -width
			}
			line += fmt.Sprintf("%*s  ", width, cell)
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " ")); err != nil {
			return err
		}
	}
	return nil
}

func price(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
