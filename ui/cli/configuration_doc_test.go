package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"

	"artoo/agent"
	"artoo/config"
	"artoo/provider"
)

// configurationDoc is docs/configuration.md: testdata/configuration.tmpl with the
// tables of settings.
func configurationDoc(t *testing.T) string {
	t.Helper()
	var parts struct{ Settings, Providers string }
	group := ""
	for _, o := range config.Options() {
		if o.Group != group {
			group = o.Group
			parts.Settings += fmt.Sprintf(
				"\n### %s\n\nKeys in `[%s]`:\n\n", group, o.Section)
		}
		parts.Settings += docRow(o)
	}
	var names []string
	for _, f := range provider.Known() {
		if f.Key != provider.KeyNever {
			names = append(names, "`"+f.Name+"`")
		}
	}
	parts.Providers = strings.Join(names, ", ")
	text, err := template.ParseFiles(filepath.Join("testdata", "configuration.tmpl"))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := text.Execute(&b, parts); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestTheExitCodesAreDocumented looks for the table of exit codes in docs/headless.md.
func TestTheExitCodesAreDocumented(t *testing.T) {
	want := "| code | `kind` | |\n|---|---|---|\n"
	for _, e := range agent.Exits {
		kinds := make([]string, len(e.Kinds))
		for i, k := range e.Kinds {
			kinds[i] = "`" + string(k) + "`"
		}
		want += fmt.Sprintf("| %d | %s | %s |\n", e.Code, strings.Join(kinds, ", "), cell(e.Meaning))
	}
	if !strings.Contains(docsPage(t, "headless.md"), want+"\n") {
		t.Errorf("docs/headless.md lacks the table\n%s", want)
	}
}

func docRow(o config.Option) string {
	var names []string
	if o.Short != "" {
		names = append(names, "`-"+o.Short+"`")
	}
	if o.Flag != "" {
		names = append(names, strings.TrimRight("`--"+o.Flag+" "+o.Arg, " ")+"`")
	}
	if o.Env != "" {
		names = append(names, "`"+o.Env+"`")
	}
	for _, a := range slices.Sorted(slices.Values(o.Aliases)) {
		names = append(names, "key also `"+a+"`")
	}
	if o.NoFile && o.Env != "" {
		names = append(names, "no key")
	}
	meaning := o.Meaning
	if !namesAll(o.Meaning, o.Choices) {
		words := make([]string, len(o.Choices))
		for i, c := range o.Choices {
			words[i] = "`" + c + "`"
		}
		meaning += ": " + strings.Join(words, ", ")
	}
	if shown := o.Shown(); shown != "" {
		meaning += ". Default: " + shown
	}
	return fmt.Sprintf("- %s: %s\n", strings.Join(names, ", "), meaning)
}

// cell keeps a text inside its cell of a Markdown table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
