package main_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// inOrder are the packages in which each file stands above those whose names it uses: read so, no one has to go
// back. back are the uses that need not.
var (
	inOrder = []string{"agent", "agent/permission", "tool", "ui"}
	back    = []string{
		"agent/turn.go agent/calls.go", // A call of the tool task is a message to an agent of its own.
	}
)

func TestFilesStandAboveWhatTheyUse(t *testing.T) {
	unseen := slices.Clone(back)
	for _, dir := range inOrder {
		uses := usesOf(t, dir)
		if len(uses) == 0 {
			t.Errorf("%s: no file of it uses another", dir)
		}
		for _, pair := range back {
			if from, to, _ := strings.Cut(pair, " "); uses[from][to] != "" {
				delete(uses[from], to)
				unseen = slices.DeleteFunc(unseen, func(u string) bool { return u == pair })
			}
		}
		if circle := circleOf(uses); circle != nil {
			t.Errorf("files that use each other; move what one names of the next into one of them: %s", strings.Join(circle, ", "))
		}
	}
	if len(unseen) > 0 {
		t.Errorf("not used any more, and to be struck from the list: %q", unseen)
	}
}

// usesOf are the files of a package that each of its files uses, with a name of what it uses.
func usesOf(t *testing.T, dir string) map[string]map[string]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	checker := types.Config{Importer: emptyPackages{}, Error: func(error) {}} // Names of other packages are unknown.
	pkg, _ := checker.Check(dir, set, files, info)
	uses := map[string]map[string]string{}
	for id, object := range info.Uses {
		if object.Pkg() != pkg {
			continue
		}
		from, to := set.Position(id.Pos()).Filename, set.Position(object.Pos()).Filename
		if uses[from] == nil {
			uses[from] = map[string]string{}
		}
		if from != to && (uses[from][to] == "" || id.Name < uses[from][to]) {
			uses[from][to] = id.Name
		}
	}
	return uses
}

// emptyPackages has no package read: what a package uses of itself is known without them.
type emptyPackages struct{}

func (emptyPackages) Import(name string) (*types.Package, error) {
	pkg := types.NewPackage(name, path.Base(name))
	pkg.MarkComplete()
	return pkg, nil
}

// circleOf are files that use each other, each with what it uses of the next; nil where none do.
func circleOf(uses map[string]map[string]string) []string {
	var names []string
	for name := range uses {
		names = append(names, name)
	}
	slices.Sort(names)
	done := map[string]bool{}
	var circle, above []string
	var visit func(name string)
	visit = func(name string) {
		if circle != nil {
			return
		}
		if at := slices.Index(above, name); at >= 0 {
			for i, from := range above[at:] {
				to := above[at+(i+1)%len(above[at:])]
				circle = append(circle, from+" uses "+uses[from][to]+" of "+to)
			}
		}
		if done[name] {
			return
		}
		done[name], above = true, append(above, name)
		for _, to := range names {
			if uses[name][to] != "" {
				visit(to)
			}
		}
		above = above[:len(above)-1]
	}
	for _, name := range names {
		visit(name)
	}
	return circle
}
