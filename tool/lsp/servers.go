// Package lsp asks language servers about the project's files: what is wrong with them
// after an edit, where a name is defined and used, what stands in a file. A server is
// started when the first file of its kind is asked about; one that is late, dies or
// floods holds nobody up. It knows nothing of tools or models.
package lsp

import (
	"path/filepath"
	"slices"
	"strings"
)

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

// languages are the protocol's names of languages, by extension; others are called as
// their extension.
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
