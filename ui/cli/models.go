package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"artoo/provider"
	"artoo/ui/sanitize"
)

// Model is a model that can be asked. Its JSON is what `artoo models --json`
// prints, a line each.
type Model struct {
	Provider  string   `json:"provider"`
	ID        string   `json:"id"` // as its provider knows it
	Name      string   `json:"name"`
	Default   bool     `json:"default"`    // it answers when only the provider is named
	Context   int      `json:"context"`    // tokens of the window
	MaxOutput int      `json:"max_output"` // tokens of one reply
	Price     *Price   `json:"price"`      // null when unknown
	Images    bool     `json:"images"`     // it sees
	Tools     bool     `json:"tools"`
	Reasoning bool     `json:"reasoning"`
	Efforts   []string `json:"efforts"` // the provider's words for them; null when unknown
	Guess     bool     `json:"guess"`   // nobody says what it can do: the least that its family can
	Source    string   `json:"source"`  // who says that there is such a model: provider, catalogue, config
}

// Price is in US dollars per million tokens; 0 for the cache means that such
// tokens cost what input costs.
type Price struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cache_read"`
	CacheWrite float64 `json:"cache_write"`
}

// About is what is known of the model in a few words, without its name.
func (m Model) About() string {
	words := []string{short(m.Context) + " window", short(m.MaxOutput) + " reply"}
	if m.Price != nil {
		words = append(words, dollars(m.Price.Input)+" in", dollars(m.Price.Output)+" out")
	}
	if can := m.can(); can != "" {
		words = append(words, can)
	}
	return strings.Join(append(words, m.remarks()...), ", ")
}

// can are the abilities that not every model has.
func (m Model) can() string {
	var can []string
	for _, a := range []struct {
		has  bool
		name string
	}{{m.Images, "sees"}, {m.Reasoning, "reasons"}, {!m.Tools, "no tools"}} {
		if a.has {
			can = append(can, a.name)
		}
	}
	return strings.Join(can, ", ")
}

func (m Model) remarks() []string {
	var words []string
	if m.Default {
		words = append(words, "default")
	}
	if m.Guess {
		words = append(words, "guessed")
	}
	return words
}

func (p *program) runModels(ctx context.Context, cmd *cobra.Command, words []string) error {
	name := ""
	if len(words) > 0 {
		name = words[0]
	}
	list, err := p.deps.Models(ctx, Invocation{Flags: given(cmd.Flags())}, name)
	if err != nil {
		return err
	}
	if cmd.Flags().Changed("json") {
		for _, m := range list {
			line, err := provider.Marshal(m)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(p.deps.Out, "%s\n", line); err != nil {
				return err
			}
		}
		return nil
	}
	_, err = fmt.Fprint(p.deps.Out, modelTable(list))
	return err
}

// modelTable is the list in columns. The first is what -m takes.
func modelTable(list []Model) string {
	rows := [][]string{{"MODEL", "WINDOW", "REPLY", "$/M IN", "$/M OUT", "CACHED", ""}}
	for _, m := range list {
		in, out, cached := "?", "?", "?"
		if p := m.Price; p != nil {
			in, out, cached = price(p.Input), price(p.Output), price(p.CacheRead)
			if p.CacheRead == 0 {
				cached = price(p.Input)
			}
		}
		about := m.remarks()
		if can := m.can(); can != "" {
			about = append([]string{can}, about...)
		}
		rows = append(rows, []string{sanitize.Text(m.Provider+"/"+m.ID, sanitize.Line), short(m.Context), short(m.MaxOutput), in, out, cached, strings.Join(about, ", ")})
	}
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, cell := range r {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, r := range rows {
		var line strings.Builder
		for i, cell := range r {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 || i == len(r)-1 {
				line.WriteString(cell + pad + "  ")
			} else {
				line.WriteString(pad + cell + "  ") // numbers stand at the right
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}

// short is a number of tokens as people say it: 200k, 1M.
func short(n int) string {
	switch {
	case n >= 1_000_000:
		return strconv.FormatFloat(float64(n/10_000)/100, 'f', -1, 64) + "M"
	case n >= 10_000:
		return strconv.Itoa(n/1000) + "k"
	case n >= 1000:
		return strconv.FormatFloat(float64(n/100)/10, 'f', -1, 64) + "k"
	}
	return strconv.Itoa(n)
}

func price(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func dollars(f float64) string { return "$" + price(f) + "/M" }
