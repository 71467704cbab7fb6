package cli

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Three pages list artoo's promises to users. They are made from ledgers in testdata,
// which name the tests of each promise.

func TestProvidersDoc(t *testing.T) {
	page := providersHead + promises(promiseRows(t, "fault_rows.txt"), false)
	madeFromTables(t, "dev/providers.md", page)
	fitsAPage(t, page)
}

func TestTerminalDoc(t *testing.T) {
	page := terminalHead + promises(promiseRows(t, "terminal_rows.txt"), false)
	madeFromTables(t, "dev/terminal.md", page)
	fitsAPage(t, page)
}

func TestSecurityDoc(t *testing.T) {
	page := securityHead + promises(promiseRows(t, "security_rows.txt"), true)
	madeFromTables(t, "dev/security.md", page)
	fitsAPage(t, page)
}

// TestEveryPromiseHasATest finds each test that a ledger names, and misses one
// for a promise that names none and does not say why.
func TestEveryPromiseHasATest(t *testing.T) {
	tests := testNames(t)
	for _, name := range []string{"fault_rows.txt", "terminal_rows.txt", "security_rows.txt"} {
		known := map[string]bool{}
		for _, r := range promiseRows(t, name) {
			if known[r.id] {
				t.Errorf("%s: row %s is there twice", name, r.id)
			}
			known[r.id] = true
			// Promises about terminal and security are always tested: notes are no reasons.
			if len(r.tests) == 0 && (r.note == "" || name != "fault_rows.txt") {
				t.Errorf("%s: row %s has neither a test nor a reason", name, r.id)
			}
			for _, test := range r.tests {
				if !tests[test] {
					t.Errorf("%s: row %s names %q, which is no test", name, r.id, test)
				}
			}
		}
	}
}

// promise is one row of a ledger.
type promise struct {
	section, id, text string
	note              string   // where it is not held whole, or why there is no test; may be ""
	tests             []string // "package Test", "script name"
}

var promiseRow = regexp.MustCompile(`^(\d+|[A-W]\d) (.+)$`)

// promiseRows reads the rows; the format stands at the file's head.
func promiseRows(t *testing.T, name string) []promise {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(moduleDir, "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(data), "\n\n") // behind the head
	var rows []promise
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		kind, rest, _ := strings.Cut(line, " ")
		row := promiseRow.FindStringSubmatch(line)
		switch {
		case line == "":
		case kind == "#":
			section = rest
		case row != nil:
			rows = append(rows, promise{section: section, id: row[1], text: row[2]})
		case kind == "!" && len(rows) > 0:
			rows[len(rows)-1].note = rest
		case kind == "-" && len(rows) > 0:
			last := &rows[len(rows)-1]
			last.tests = append(last.tests, rest)
		default:
			t.Fatalf("%s: %q is no row", name, line)
		}
	}
	return rows
}

// promises is the rows as users read them, with their tests if named is set. A row
// without a test is left out.
func promises(rows []promise, named bool) string {
	var b strings.Builder
	section := ""
	for _, r := range rows {
		if len(r.tests) == 0 {
			continue
		}
		if r.section != section {
			section = r.section
			fmt.Fprintf(&b, "\n## %s\n\n", section)
		}
		fmt.Fprintf(&b, "- %s", r.text)
		if r.note != "" {
			fmt.Fprintf(&b, " *%s*", r.note)
		}
		if named {
			fmt.Fprintf(&b, " (`%s`)", strings.Join(r.tests, "`, `"))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// fitsAPage bounds a page to a length that people read.
func fitsAPage(t *testing.T, page string) {
	t.Helper()
	if lines := strings.Count(page, "\n"); lines > 150 {
		t.Errorf("the page has %d lines, more than 150", lines)
	}
}

// testNames are all tests of the module as a ledger names them, those with build
// tags included.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	goFiles(t, func(name, path string) {
		if !strings.HasSuffix(name, "_test.go") {
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil {
				names[filepath.ToSlash(filepath.Dir(name))+" "+f.Name.Name] = true
			}
		}
	})
	scripts, err := filepath.Glob(filepath.Join(moduleDir, "testdata", "script", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range scripts {
		names["script "+strings.TrimSuffix(filepath.Base(name), ".txtar")] = true
	}
	return names
}

const providersHead = `<!-- Made by TestProvidersDoc from testdata/fault_rows.txt; go test ./ui/cli -update rewrites it. -->

# Providers, and what can go wrong with them

| provider | wire | address |
|---|---|---|
| ` + "`anthropic`" + ` | Messages | api.anthropic.com, or ` + "`ANTHROPIC_BASE_URL`" + ` |
| ` + "`openai`" + ` | Responses | api.openai.com, or ` + "`OPENAI_BASE_URL`" + ` (another server speaks Chat Completions, unless its address ends in /responses) |
| ` + "`gemini`" + ` | generateContent | generativelanguage.googleapis.com, or ` + "`GOOGLE_GEMINI_BASE_URL`" + ` |
| ` + "`ollama`" + ` | its own, /api/chat | this machine, or ` + "`OLLAMA_HOST`" + ` |
| ` + "`deepseek`, `openrouter`" + ` | Chat Completions | their own |
| ` + "`azure`, `vertex`, `vertex-claude`" + ` | Responses, generateContent, Messages | what ` + "`base_url`" + ` says |
| ` + "`bedrock`" + ` | ConverseStream, whose events are frames of AWS's own | what ` + "`base_url`" + ` says |
| ` + "`compatible`" + ` and names of your own | Chat Completions, or what ` + "`wire`" + ` says | ` + "`ARTOO_BASE_URL`, or `base_url`" + `: llama.cpp, LM Studio, vLLM, gateways |

` + "`wire`, `auth`, `path` and `extra_body`" + ` in a provider's table say how its server is spoken to: which of the five interfaces, in which
header the key goes, at which path, and with what more in each request. docs/configuration.md has an example.
` + "`ANTHROPIC_AUTH_TOKEN`" + ` is sent as a bearer token, where ` + "`ANTHROPIC_API_KEY`" + ` is not set.

What enforces a ` + "`--schema`" + `: OpenAI, Azure and OpenRouter, if the root is an object and all properties are
required; Anthropic, for Claude 4 and later, if the root is an object and no part contains itself; Gemini, from
Gemini 3 on or without tools, if no part contains itself; Ollama and compatible servers, for runs without tools
and for the second answer. Otherwise, or where a server rejects the schema (` + "`allOf`, `if`" + ` and so on), it
is an instruction, and stderr says so.

What may pass (429, 5xx, 408, 409, a broken connection, silence) is tried up to five times, after 0.5 s doubled up to 8 s, or as long as the
server asks, all within ` + "`ARTOO_MAX_RETRY_TIME`" + `; each try is shown, and a longer wait ends the request and says when to come back. A
server that is not there (refused, no such host) is tried three times within 5 s, and a timeout of a local server is final: it most likely still computes.
Quotas, credit, keys, settings and requests that do not fit are final. Another model answers only if ` + "`ARTOO_FALLBACK`" + ` names one.

What arrives from real servers, proxies and tools, and what artoo does:
`

const terminalHead = `<!-- Made by TestTerminalDoc from testdata/terminal_rows.txt; go test ./ui/cli -update rewrites it. -->

# The terminal

What artoo promises of the terminal. Words in italics say where it differs from the convention, and why.
`

const securityHead = `<!-- Made by TestSecurityDoc from testdata/security_rows.txt; go test ./ui/cli -update rewrites it. -->

# Promises of security, and their tests

[The sandbox](../sandbox.md) says what artoo defends against, and what remains possible.

Each promise below is held by the tests named with it. Words in italics say where it ends.

` + "`go test ./ui/cli -run TestScript/hosts_npm`" + ` plays an attack: npm installs a package whose script reads
` + "`~/.npmrc` and `~/.netrc`, looks for keys, writes `~/.bashrc`, a git hook and a link to `/etc/passwd`" + `, connects
past the proxy, and asks the proxy for another host. It finds no file and no key, gets ` + "`ECONNREFUSED`" + ` and 403, and
nothing that it wrote lands. The result names the host: ` + "`[network: 127.0.0.1:4873, 2 requests; refused: telemetry.example …]`" + `.
`
