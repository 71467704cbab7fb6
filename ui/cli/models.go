package cli

// How models are listed.

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
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
func printModels(w io.Writer, list []listedModel, now time.Time, asJSON bool) error {
	if asJSON {
		return printEach(w, list, true, listedModel.About)
	}
	rows := [][]string{{"MODEL", "WINDOW", "REPLY", "$/M IN", "$/M OUT", "CACHED", "FROM", ""}}
	for _, m := range list {
		in, out, cached := "?", "?", "?"
		if p := m.Price; p != nil {
			in, out, cached = price(p.Input), price(p.Output), price(p.CacheRead)
			if p.CacheRead == 0 {
				cached = in
			}
		}
		remarks := m.Can()
		if m.Price != nil {
			for _, t := range m.Price.Tiers {
				remarks += fmt.Sprintf(", above %s $%s in, $%s out", provider.ShortCount(t.Above), price(t.Input), price(t.Output))
			}
		}
		if m.Default {
			remarks += ", default"
		}
		rows = append(rows, []string{
			sanitize.Text(m.Provider+"/"+m.ID, sanitize.Line), provider.ShortCount(m.Context),
			provider.ShortCount(m.MaxOutput), in, out, cached, m.from(now), strings.TrimPrefix(remarks, ", "),
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
			if i == 0 || i >= len(r)-2 {
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

// from says how old the facts are and whose: of the window and the price by
// themselves where they differ.
func (m listedModel) from(now time.Time) string {
	window, price := fromWhom(m.ContextFrom, now), fromWhom(m.PriceFrom, now)
	if price != "" && price != window {
		window = strings.TrimPrefix(window+", price "+price, ", ")
	}
	return sanitize.Text(window, sanitize.Line)
}

// fromWhom is a source in a word or two, with the age of a list in days.
func fromWhom(s provider.Source, now time.Time) string {
	age, dated := s.Age(now)
	if !dated {
		return s.Name
	}
	name, _, _ := strings.Cut(s.Name, " ")
	return fmt.Sprintf("%s %dd", name, int(age/(24*time.Hour)))
}

func price(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
