package lsp

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf16"
)

// Problem is something that a server finds wrong with a file.
type Problem struct {
	Line     int    // counts from 1
	Severity string // "error" or "warning"; lesser ones are left out
	Text     string // untrusted
	// Code is the line's trimmed text: a problem is known by it when lines before it came or went.
	Code string
}

// String is a problem in one line, as compilers write them.
func (p Problem) String() string {
	return fmt.Sprintf("line %d: %s: %s", p.Line, p.Severity, strings.Join(strings.Fields(p.Text), " "))
}

// same reports whether two problems of one file are the same, wherever it stands.
func (p Problem) same(other Problem) bool {
	return p.Severity == other.Severity && p.Text == other.Text && p.Code == other.Code
}

type diagnostic struct {
	Range    span
	Severity int
	Message  string
}

type span struct{ Start, End position }

type position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

type location struct {
	URI   string
	Range span
	// A LocationLink has these instead.
	TargetURI            string
	TargetSelectionRange span
}

// problems are the errors and warnings among diagnostics.
func problems(path, text string, list []diagnostic) (out []Problem) {
	lines := strings.Split(text, "\n")
	for _, d := range list {
		severity := map[int]string{0: "error", 1: "error", 2: "warning"}[d.Severity]
		if severity == "" {
			continue
		}
		p := Problem{Line: d.Range.Start.Line + 1, Severity: severity, Text: d.Message}
		if d.Range.Start.Line >= 0 && d.Range.Start.Line < len(lines) {
			p.Code = strings.TrimSpace(lines[d.Range.Start.Line])
		}
		out = append(out, p)
	}
	return out
}

// column is the place of byte i of a line as the protocol counts it.
func column(line string, i int, bytes bool) int {
	if bytes {
		return i
	}
	n := 0
	for _, r := range line[:i] {
		n += len(utf16.Encode([]rune{r}))
	}
	return n
}

// Server is a language server and the files it is for.
type Server struct {
	Name    string
	Command []string // the program, found on PATH, and its arguments
	Files   []string // extensions with their dot, lower case
}

// Known are the servers that are looked for where the user names no others.
func Known() []Server {
	return []Server{
		{"gopls", []string{"gopls"}, []string{".go"}},
		{"typescript-language-server", []string{"typescript-language-server", "--stdio"},
			[]string{".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"}},
		{"pyright", []string{"pyright-langserver", "--stdio"}, []string{".py", ".pyi"}},
		{"rust-analyzer", []string{"rust-analyzer"}, []string{".rs"}},
		{"clangd", []string{"clangd"}, []string{".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".hh", ".m", ".mm"}},
	}
}

// For is the server of a file; the first that names its extension.
func For(servers []Server, path string) (Server, bool) {
	ext := strings.ToLower(filepath.Ext(path))
	i := slices.IndexFunc(servers, func(s Server) bool { return slices.Contains(s.Files, ext) })
	if ext == "" || i < 0 {
		return Server{}, false
	}
	return servers[i], true
}

// languages are the protocol's names of languages that differ from the extension.
var languages = map[string]string{
	".ts": "typescript", ".mts": "typescript", ".cts": "typescript", ".tsx": "typescriptreact",
	".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".jsx": "javascriptreact",
	".py": "python", ".pyi": "python", ".rs": "rust", ".h": "c", ".cc": "cpp", ".cxx": "cpp", ".hpp": "cpp", ".hh": "cpp",
	".m": "objective-c", ".mm": "objective-cpp",
}

func language(path string) string {
	ext := strings.ToLower(filepath.Ext(path))
	if name := languages[ext]; name != "" {
		return name
	}
	return strings.TrimPrefix(ext, ".")
}
