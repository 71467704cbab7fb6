package builtin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"artoo/tool"
	"artoo/tool/lsp"
)

const (
	lspLimit  = 20 * time.Second
	maxPlaces = 100  // places, symbols or problems that are shown
	maxHover  = 4000 // bytes of a server's description of a name
)

type lspInput struct {
	Action string `json:"action" jsonschema:"problems, symbols, definition, references or hover"`
	Path   string `json:"path"`
	Symbol string `json:"symbol,omitempty" jsonschema:"the name to look up; for the last three actions"`
	Line   int    `json:"line,omitempty" jsonschema:"a line with it, counted from 1; default: the first"`
}

// LSP makes the tool that asks language servers, those of Env.LSP.
func LSP() tool.Tool {
	return tool.New(tool.Def{
		Name: "lsp", Kind: tool.KindRead, Optional: true,
		Description: "Ask the language server about code: problems of a file, symbols it defines, " +
			"definition and references of a name in it, hover for its type and documentation.",
	}, planLSP, runLSP)
}

func planLSP(_ context.Context, env *tool.Env, in lspInput) (tool.Access, error) {
	t, err := env.Files.Resolve(in.Path, false)
	if err != nil {
		return tool.Access{Kind: tool.KindRead, Verb: "lsp", Object: in.Path}, err
	}
	access := accessTo(t, tool.KindRead, "lsp", strings.TrimSpace(in.Action+" "+t.Display))
	switch in.Action {
	case "problems", "symbols":
	case "definition", "references", "hover":
		if in.Symbol == "" {
			return access, fmt.Errorf("%s needs a symbol", in.Action)
		}
	default:
		return access, fmt.Errorf("unknown action %.40q: use problems, symbols, definition, references or hover",
			in.Action)
	}
	return access, nil
}

func runLSP(ctx context.Context, env *tool.Env, in lspInput, _ io.Writer) (tool.Result, error) {
	if env.LSP == nil {
		return tool.Result{}, errors.New("there are no language servers here")
	}
	t, err := env.Files.Resolve(in.Path, false)
	if err != nil {
		return tool.Result{}, err
	}
	text, err := t.Source()
	if err != nil {
		return tool.Result{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, lspLimit, fmt.Errorf("the language server did not answer within %s", lspLimit))
	defer cancel()
	none := func(text string) string {
		if env.LSP.Loads(t.Abs) {
			return "nothing yet: the language server is still loading the project; ask again in a moment"
		}
		return text
	}
	switch in.Action {
	case "problems":
		list, err := env.LSP.Problems(ctx, t.Abs, text)
		return listed(list, none("nothing is wrong with it"), err)
	case "symbols":
		list, err := env.LSP.Symbols(ctx, t.Abs, text)
		return listed(list, none("it defines nothing"), err)
	}
	line, at, err := in.find(text)
	if err != nil {
		return tool.Result{}, err
	}
	if in.Action == "hover" {
		said, err := env.LSP.Hover(ctx, t.Abs, text, line, at)
		if len(said) > maxHover {
			said = strings.ToValidUTF8(said[:maxHover], "") + "\n(and more)"
		}
		return tool.Result{Text: cmp.Or(said, none("the language server says nothing about it")), Summary: "hover"}, err
	}
	places, err := env.LSP.Places(ctx, in.Action, t.Abs, text, line, at)
	return listed(withCode(env, places), none("none found"), err)
}

// find is where the symbol stands in a text: line and byte, both from 0.
func (in lspInput) find(text string) (line, at int, err error) {
	lines := strings.Split(text, "\n")
	if in.Line > 0 {
		if in.Line > len(lines) {
			return 0, 0, fmt.Errorf("the last line of the file is %d", len(lines))
		}
		if at = strings.Index(lines[in.Line-1], in.Symbol); at < 0 {
			return 0, 0, fmt.Errorf("line %d has no %q; it reads: %s", in.Line, in.Symbol, strings.TrimSpace(lines[in.Line-1]))
		}
		return in.Line - 1, at, nil
	}
	for line, l := range lines {
		if at := strings.Index(l, in.Symbol); at >= 0 {
			return line, at, nil
		}
	}
	return 0, 0, fmt.Errorf("the file has no %q", in.Symbol)
}

// withCode are places as grep shows matches: with their code, where it may be read.
func withCode(e *tool.Env, places []lsp.Place) (out []string) {
	texts := map[string][]string{}
	for _, p := range places {
		t, err := e.Files.Resolve(p.Path, false)
		if err != nil || t.Refused() != nil {
			out = append(out, fmt.Sprintf("%s:%d", p.Path, p.Line)) // outside, such as the standard library
			continue
		}
		lines, ok := texts[t.Abs]
		if !ok {
			if text, err := t.Source(); err == nil {
				lines = strings.Split(text, "\n")
			}
			texts[t.Abs] = lines
		}
		code := ""
		if p.Line <= len(lines) {
			code = strings.TrimSpace(lines[p.Line-1])
		}
		out = append(out, fmt.Sprintf("%s:%d: %s", t.Display, p.Line, code))
	}
	return out
}

// listed is a result of one line for each of list.
func listed[T any](list []T, none string, err error) (tool.Result, error) {
	if err != nil {
		return tool.Result{}, err
	}
	if len(list) == 0 {
		return tool.Result{Text: none, Summary: none}, nil
	}
	var b strings.Builder
	for _, v := range list[:min(len(list), maxPlaces)] {
		fmt.Fprintln(&b, v)
	}
	if more := len(list) - maxPlaces; more > 0 {
		fmt.Fprintf(&b, "(and %d more)\n", more)
	}
	return tool.Result{Text: b.String(), Summary: fmt.Sprintf("%d found", len(list))}, nil
}
