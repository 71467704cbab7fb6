package builtin

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sourcegraph/conc"

	"artoo/tool"
	"artoo/tool/files"
	"artoo/tool/names"
	"artoo/tool/outline"
	"artoo/tool/search"
	"artoo/tool/text"
)

const (
	mapBytes   = 5500 // A token of such lines has some three bytes, at least 2.9: these are at most 2,000 tokens.
	mapFiles   = 20_000
	mapFile    = 1 << 20 // bytes of a file that is read
	mapPerFile = 10      // definitions shown of a file that the call does not name
	mapTime    = 10 * time.Second
)

type mapInput struct {
	Path  string `json:"path,omitempty" jsonschema:"file or directory to map"`
	Query string `json:"query,omitempty" jsonschema:"words; names and paths with them come first"`
}

// Map makes the tool that ranks the definitions of a project. It keeps the last call's findings in each file, by the
// file's content.
func Map() tool.Tool { return newMapper().tool() }

func newMapper() *mapper { return &mapper{scanner: outline.NewScanner()} }

func (m *mapper) tool() tool.Tool {
	return tool.New(tool.Def{
		Name: "map", Kind: tool.KindRead, Optional: true,
		Description: "Show the project's most important definitions with their lines, in 2,000 tokens: those that most other files use.",
	}, planMap, m.run)
}

// mapper makes maps, also several at once.
type mapper struct {
	scanner *outline.Scanner
	mu      sync.Mutex
	known   map[content]*outline.File
}

type content struct {
	sum       [sha256.Size]byte
	extension string
}

// places are the directory that is looked through, and the place that the map is about.
func (in mapInput) places(f *files.Files) (top, about files.Place, err error) {
	if about, err = f.Resolve(cmp.Or(in.Path, "."), false); err != nil {
		return top, about, fmt.Errorf("map: %w", err)
	}
	if top, err = f.Resolve(".", false); err != nil {
		return top, about, fmt.Errorf("map: %w", err)
	}
	if _, inside := names.Relative(top.Abs, about.Abs); !inside {
		top = about
	}
	return top, about, nil
}

func planMap(_ context.Context, env *tool.Env, in mapInput) (tool.Access, error) {
	top, about, err := in.places(env.Files)
	if err != nil {
		return tool.Access{}, err
	}
	object := cmp.Or(about.Display, ".")
	if in.Query != "" {
		object = fmt.Sprintf("\"%s\" in %s", in.Query, object)
	}
	access := accessTo(about, tool.KindRead, "map", object)
	if top.Abs != about.Abs {
		access.Paths = append(access.Paths, top.Abs)
	}
	return access, nil
}

func (m *mapper) run(ctx context.Context, env *tool.Env, in mapInput, _ io.Writer) (tool.Result, error) {
	top, about, err := in.places(env.Files)
	if err == nil {
		_, err = about.Stat()
	}
	if err != nil {
		return tool.Result{}, fmt.Errorf("map: %w", err)
	}
	limited, cancel := context.WithTimeout(ctx, mapTime)
	defer cancel()
	found, err := search.List(limited, env.Files, top.Abs, func(_ *os.File, _ fs.DirEntry, name string) (int64, bool) {
		return 0, outline.Known(name)
	})
	if err != nil && limited.Err() == nil {
		return tool.Result{}, fmt.Errorf("map: %w", err)
	}
	slices.SortFunc(found.Files, func(a, b search.File) int { // The shallow ones come first.
		return cmp.Or(cmp.Compare(strings.Count(a.Name, "/"), strings.Count(b.Name, "/")), strings.Compare(a.Name, b.Name))
	})
	sources := m.read(limited, env.Files, top, found.Files[:min(len(found.Files), mapFiles)])
	if ctx.Err() != nil {
		return tool.Result{}, context.Cause(ctx)
	}
	for i := range sources {
		_, inside := names.Relative(about.Abs, filepath.Join(top.Abs, filepath.FromSlash(sources[i].Name)))
		sources[i].Near = inside && about.Abs != top.Abs
	}
	result := drawMap(top, sources, outline.Rank(sources, strings.Fields(strings.ToLower(in.Query))), env.Page(mapBytes))
	result.Text += hiddenNote(found.Hidden)
	if limited.Err() != nil || found.More || len(found.Files) > mapFiles {
		result.Text += fmt.Sprintf("(looked at source files for %s, %s at most)\n", mapTime, text.Grouped(mapFiles))
	}
	return result, nil
}

// read finds the definitions of the files that may be read, until ctx ends.
func (m *mapper) read(ctx context.Context, f *files.Files, top files.Place, list []search.File) []outline.Source {
	m.mu.Lock()
	known := m.known
	m.mu.Unlock()
	sources, contents := make([]outline.Source, len(list)), make([]content, len(list))
	read := func(i int) {
		place, err := f.Resolve(filepath.Join(top.Abs, filepath.FromSlash(list[i].Name)), false)
		if err != nil || place.Refused() != nil {
			return
		}
		data, _, err := place.ReadFile(mapFile)
		if err != nil || files.BinaryType(data) != "" {
			return
		}
		contents[i] = content{sha256.Sum256(data), path.Ext(list[i].Name)}
		sources[i] = outline.Source{Name: list[i].Name, File: known[contents[i]]}
		if sources[i].File == nil {
			sources[i].File = m.scanner.Scan(list[i].Name, data)
		}
	}
	var next atomic.Int64
	var wg conc.WaitGroup
	for range min(runtime.GOMAXPROCS(0), 8) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(list) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				read(i)
			}
		})
	}
	wg.Wait()
	now := make(map[content]*outline.File, len(list))
	for i, s := range sources {
		if s.File != nil {
			now[contents[i]] = s.File
		}
	}
	m.mu.Lock()
	m.known = now
	m.mu.Unlock()
	return slices.DeleteFunc(sources, func(s outline.Source) bool { return s.File == nil })
}

// drawMap writes the first definitions, by file, in at most most bytes.
func drawMap(top files.Place, sources []outline.Source, ranked []outline.Ranked, most int) tool.Result {
	var order []int
	lines, chosen, shown := make([][]string, len(sources)), make([][]int, len(sources)), 0
	for _, r := range ranked {
		s := sources[r.Source]
		if n := len(chosen[r.Source]); n == mapPerFile && !s.Near {
			continue
		} else if n == 0 {
			order = append(order, r.Source)
			lines[r.Source] = []string{text.Printable(top.Child(s.Name)) + "\n"}
			most -= len(lines[r.Source][0])
		}
		line := fmt.Sprintf("  %d: %s\n", s.Symbols[r.Symbol].Line, text.Printable(s.Symbols[r.Symbol].Text))
		if most -= len(line); most < 0 {
			break
		}
		at, _ := slices.BinarySearch(chosen[r.Source], r.Symbol) // Symbols keep the order of the file.
		chosen[r.Source] = slices.Insert(chosen[r.Source], at, r.Symbol)
		lines[r.Source] = slices.Insert(lines[r.Source], at+1, line)
		shown++
	}
	var b strings.Builder
	for _, i := range order {
		if len(chosen[i]) > 0 {
			b.WriteString(strings.Join(lines[i], ""))
		}
	}
	fmt.Fprintf(&b, "(%s of %s definitions, from %s)\n", text.Grouped(shown), text.Grouped(len(ranked)), text.Count(len(sources), "source file"))
	return tool.Result{Text: b.String(), Summary: text.Count(shown, "definition"), Paged: true}
}
