package cli

import (
	"bytes"
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestProvidersDoc keeps docs/providers.md what the rows and their tests say. A
// row without a test and without a reason, and a test of a row that does not
// exist, are errors.
func TestProvidersDoc(t *testing.T) {
	madeFromTables(t, "providers.md", faultDoc(t, faultRows(t), faultTests(t)))
}

type faultRow struct{ section, id, text, reason string }

// faultRows reads the rows; the format stands at the file's head.
func faultRows(t *testing.T) []faultRow {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(moduleDir, "testdata", "fault_rows.txt"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(data), "\n\n") // behind the head
	var rows []faultRow
	row := regexp.MustCompile(`^(\d+) (.+)$`)
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch m := row.FindStringSubmatch(line); {
		case m != nil:
			rows = append(rows, faultRow{section: section, id: m[1], text: m[2]})
		case strings.HasPrefix(line, "# "):
			section = line[2:]
		case strings.HasPrefix(line, "! ") && len(rows) > 0:
			rows[len(rows)-1].reason = line[2:]
		case line != "":
			t.Fatalf("fault_rows.txt: %q is no row", line)
		}
	}
	return rows
}

// faultTests finds the tests of each row by their names, with their packages.
func faultTests(t *testing.T) map[string][]string {
	t.Helper()
	tests := map[string][]string{}
	name := regexp.MustCompile(`^TestRow((?:\d+_)+)\w`)
	testFuncs(t, func(file string, f *ast.FuncDecl) {
		m := name.FindStringSubmatch(f.Name.Name)
		if m == nil {
			return
		}
		for id := range strings.SplitSeq(strings.Trim(m[1], "_"), "_") {
			tests[id] = append(tests[id], fmt.Sprintf("`%s` (%s)", f.Name.Name, filepath.ToSlash(filepath.Dir(file))))
		}
	})
	return tests
}

func faultDoc(t *testing.T, rows []faultRow, tests map[string][]string) string {
	var b bytes.Buffer
	b.WriteString(providersHead)
	known := map[string]bool{}
	section := ""
	for _, r := range rows {
		if r.section != section {
			section = r.section
			fmt.Fprintf(&b, "\n## %s\n", section)
		}
		if known[r.id] {
			t.Errorf("row %s is there twice", r.id)
		}
		known[r.id] = true
		fmt.Fprintf(&b, "\n**%s** %s\n", r.id, r.text)
		of := tests[r.id]
		slices.Sort(of)
		switch {
		case len(of) > 0:
			fmt.Fprintf(&b, "\n- %s\n", strings.Join(of, "\n- "))
		case r.reason != "":
			fmt.Fprintf(&b, "*%s*\n", r.reason)
		default:
			t.Errorf("row %s has neither a test nor a reason", r.id)
		}
	}
	for id, of := range tests {
		if !known[id] {
			t.Errorf("row %s is tested by %s and is no row", id, of[0])
		}
	}
	return b.String()
}

const providersHead = `<!-- Made by TestProvidersDoc from testdata/fault_rows.txt and the tests; go test ./ui/cli -update rewrites it. -->

# Providers, and what can go wrong with them

| provider | wire | address |
|---|---|---|
| ` + "`anthropic`" + ` | Messages | api.anthropic.com, or ` + "`ANTHROPIC_BASE_URL`" + ` |
| ` + "`openai`" + ` | Responses | api.openai.com, or ` + "`OPENAI_BASE_URL`" + ` (another server speaks Chat Completions, unless its address ends in /responses) |
| ` + "`gemini`" + ` | generateContent | generativelanguage.googleapis.com, or ` + "`GOOGLE_GEMINI_BASE_URL`" + ` |
| ` + "`ollama`" + ` | its own, /api/chat | this machine, or ` + "`OLLAMA_HOST`" + ` |
| ` + "`deepseek`, `openrouter`" + ` | Chat Completions | their own |
| ` + "`compatible`" + ` and names of your own | Chat Completions | ` + "`ARTOO_BASE_URL`, or `base_url`" + `: llama.cpp, LM Studio, vLLM, gateways |

What may pass (429, 5xx, 408, 409, a broken connection, silence) is tried up to five times, after 0.5 s doubled up to 8 s, or as long as the
server asks, all within ` + "`ARTOO_MAX_RETRY_TIME`" + `; each try is shown, and a longer wait ends the request and says when to come back. A
server that is not there (refused, no such host) is tried three times within 5 s, and a timeout of a local server is final: it most likely still computes.
Quotas, credit, keys, settings and requests that do not fit are final. No other provider or model is ever taken in place of the chosen one.

The rows below say what arrives from real servers and what artoo does. Each names the tests that hold it, with the bytes on
the wire; a line in italics says why a row has none.
`
