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

	can string // see provider.ModelInfo.Can
}

// Price is in US dollars per million tokens; 0 for the cache means that such
// tokens cost what input costs.
type Price struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cache_read"`
	CacheWrite float64 `json:"cache_write"`
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
		if can := m.can; can != "" {
			about = append([]string{can}, about...)
		}
		rows = append(rows, []string{
			sanitize.Text(m.Provider+"/"+m.ID, sanitize.Line), provider.ShortCount(m.Context), provider.ShortCount(m.MaxOutput),
			in, out, cached, strings.Join(about, ", "),
		})
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

func price(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
