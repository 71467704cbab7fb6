// The measures of the house. testdata/house.txt has a row for each exception that stands today: functions, structs and
// files over the limits by name, the rest as a number for each folder, and the statements of the whole program.
package main_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

var (
	update = flag.Bool("update", false, "lower the rows of testdata/house.txt to what is counted")
	strict = flag.Bool("strict", false, "fail for rows that are too high too, and check types elsewhere")
)

const houseRows = "testdata/house.txt"

// TestHouse fails where more is counted than its row in testdata/house.txt allows. Less passes, so that several people
// can lower rows at once; only with -strict, as in make check, does a row fail that is too high. -update lowers the
// rows. It also takes over what was moved or renamed within a kind of files, where the sum of the measure does not
// rise and no more functions, structs or files are named. A higher row is written by hand, in a commit that says why.
//
// A row is a kind of files, a measure, a place and a number. The kind linux is the program as it is built for Linux,
// other the files of the same packages for other systems, tests all other files. Git keeps both sides where two people
// changed rows (testdata/.gitattributes); of two rows of one name the lower one counts.
func TestHouse(t *testing.T) {
	counted, allowed := house(t), readRows(t)
	if *update {
		allowed = lowered(allowed, counted)
		if err := os.WriteFile(houseRows, []byte(allowed.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(counted)) {
		if counted[name] > allowed[name] {
			t.Errorf("%s: %d, and %d may be; try: less, or -update where it was moved or renamed", name, counted[name], allowed[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(allowed)) {
		if *strict && counted[name] < allowed[name] {
			t.Errorf("%s: %d, and its row has %d; try: go test . -run TestHouse -update", name, counted[name], allowed[name])
		}
	}
	groups, table := totals(counted), ""
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		table += fmt.Sprintf("\n%-18s %6d in %d", group, groups[group].sum, groups[group].rows)
	}
	t.Log(table)
	if *strict {
		t.Run("elsewhere", typesElsewhere)
	}
}

type rows map[string]int

func readRows(t *testing.T) rows {
	t.Helper()
	data, err := os.ReadFile(houseRows)
	if err != nil {
		t.Fatal(err)
	}
	read := rows{}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		at := strings.LastIndex(line, " ")
		number, err := strconv.Atoi(line[at+1:])
		if err != nil {
			t.Fatalf("%s: %q: %v", houseRows, line, err)
		}
		name := line[:max(at, 0)]
		if before, twice := read[name]; !twice || number < before {
			read[name] = number
		}
	}
	return read
}

func (r rows) String() string {
	text := ""
	for _, name := range slices.Sorted(maps.Keys(r)) {
		text += fmt.Sprintf("%s %d\n", name, r[name])
	}
	return text
}

// lowered has the rows as counted where their measure did not grow in all, otherwise the lower of both numbers.
func lowered(allowed, counted rows) rows {
	to, may, now := rows{}, totals(allowed), totals(counted)
	for name, number := range counted {
		of := groupOf(name)
		if now[of].sum > may[of].sum || named(of) && now[of].rows > may[of].rows {
			number = min(number, allowed[name])
		}
		to[name] = number
	}
	maps.DeleteFunc(to, func(_ string, number int) bool { return number == 0 })
	return to
}

// groupOf is the kind and the measure of a row.
func groupOf(name string) string { return strings.Join(strings.Fields(name)[:2], " ") }

// named says whether the rows of a group are things over a limit, and not sums for a folder.
func named(group string) bool {
	return slices.Contains([]string{"functions", "structs", "files"}, strings.Fields(group)[1])
}

type total struct{ sum, rows int }

func totals(all rows) map[string]total {
	groups := map[string]total{}
	for name, number := range all {
		group := groups[groupOf(name)]
		groups[groupOf(name)] = total{group.sum + number, group.rows + 1}
	}
	return groups
}

// house counts all files of the tree, those of other modules in it too.
func house(t *testing.T) rows {
	t.Helper()
	files, folders := programOn(t, "linux")
	_, onMac := programOn(t, "darwin")
	maps.Copy(folders, onMac)
	counted := rows{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && name != ".":
			return filepath.SkipDir
		case !d.Type().IsRegular() || path.Ext(name) != ".go":
			return nil
		}
		kind := "tests"
		if files[name] {
			kind = "linux"
		} else if folders[filepath.Dir(name)] && !strings.HasSuffix(name, "_test.go") {
			kind = "other"
		}
		return counted.file(kind, name)
	})
	if err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(counted, func(_ string, number int) bool { return number == 0 })
	return counted
}

// programOn are the files, and the folders, of which the program is built on a system.
func programOn(t *testing.T, system string) (files, folders map[string]bool) {
	t.Helper()
	files, folders = map[string]bool{}, map[string]bool{}
	on := build.Default
	on.GOOS, on.GOARCH, on.CgoEnabled = system, "amd64", false
	module := moduleName(t)
	for dirs := []string{"."}; len(dirs) > 0; dirs = dirs[1:] {
		if folders[dirs[0]] {
			continue
		}
		folders[dirs[0]] = true
		pkg, err := on.ImportDir(dirs[0], 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range pkg.GoFiles {
			files[filepath.Join(dirs[0], name)] = true
		}
		for _, imported := range pkg.Imports {
			if below, ok := strings.CutPrefix(imported, module+"/"); ok {
				dirs = append(dirs, filepath.FromSlash(below))
			}
		}
	}
	return files, folders
}

// file counts one file.
func (r rows) file(kind, name string) error {
	source, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, source, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	name = filepath.ToSlash(name)
	folder := path.Dir(name)
	count := func(measure string, n int) { r[kind+" "+measure+" "+folder] += n }
	over := func(most int, row string, n int) {
		if row = kind + " " + row; n > most {
			r[row] = max(n, r[row])
		}
	}
	over(500, "files "+name, bytes.Count(source, []byte("\n")))
	for line := range strings.Lines(string(source)) {
		if trails(line) {
			count("trailing", 1)
		}
		if len([]rune(strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", "    "))) > 120 {
			count("wide", 1)
		}
	}
	seen := map[ast.Node]bool{}
	ast.Inspect(file, func(node ast.Node) bool {
		switch x := node.(type) {
		case *ast.BlockStmt, *ast.EmptyStmt:
		case ast.Stmt:
			if kind == "linux" {
				r["linux statements all"]++
			}
		case *ast.FuncDecl:
			over(60, "functions "+folder+" "+nameOf(x), set.Position(x.End()).Line-set.Position(x.Pos()).Line+1)
		case *ast.TypeSpec:
			if s, ok := x.Type.(*ast.StructType); ok {
				fields, funcs := fieldsOf(s)
				over(15, "structs "+folder+" "+x.Name.Name, fields)
				count("funcs", funcs)
			}
		case *ast.SelectorExpr:
			depth := 1
			for inner, ok := x.X.(*ast.SelectorExpr); ok; inner, ok = inner.X.(*ast.SelectorExpr) {
				seen[inner] = true
				depth++
			}
			if depth >= 3 && !seen[x] {
				count("chains", 1)
			}
		}
		return true
	})
	return nil
}

// trails says whether a comment stands behind code in the line.
func trails(line string) bool {
	line = strings.TrimSpace(line)
	code, _, ok := strings.Cut(line, " // ")
	return ok && !strings.HasPrefix(line, "//") && !strings.Contains(code, "`") && strings.Count(code, `"`)%2 == 0
}

// nameOf is a function's name, with the type of a method before it.
func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	return strings.TrimPrefix(types.ExprString(f.Recv.List[0].Type), "*") + "." + f.Name.Name
}

// fieldsOf counts the fields of a struct, and those that are funcs.
func fieldsOf(s *ast.StructType) (fields, funcs int) {
	for _, field := range s.Fields.List {
		fields += max(1, len(field.Names))
		if _, ok := field.Type.(*ast.FuncType); ok {
			funcs += max(1, len(field.Names))
		}
	}
	return fields, funcs
}

// typesElsewhere checks the types of every package, tests included, as they are for macOS, and those of the sandbox for
// a processor that it is not made for. It reads the sources alone: go vet would compile the standard library and all
// others for that, which takes ten times as long.
func typesElsewhere(t *testing.T) {
	for _, on := range []struct{ system, processor, of string }{
		{"darwin", "arm64", "./..."}, {"linux", "riscv64", "./tool/sandbox"},
	} {
		t.Setenv("GOOS", on.system)
		t.Setenv("GOARCH", on.processor)
		config := packages.Config{Mode: packages.LoadAllSyntax &^ packages.NeedTypesInfo}
		config.Tests = on.of == "./..."
		list, err := packages.Load(&config, on.of)
		if err != nil || len(list) == 0 || config.Tests && len(list) < 100 {
			t.Fatalf("%d packages: %v", len(list), err)
		}
		for _, p := range list {
			for _, e := range p.Errors {
				t.Error(on.system, on.processor, e)
			}
		}
	}
}

// inOrder are the packages in which each file stands above those whose names it uses: read so, no one has to go
// back. back are the uses that need not.
var (
	inOrder = []string{"agent", "agent/permission", "tool", "ui"}
	back    = []string{
		// A call of the tool task is a message to an agent of its own.
		"agent/agent.go agent/calls.go",
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
	// Without an importer names of other packages are unknown: what a package uses of itself is known all the same.
	checker := types.Config{Error: func(error) {}}
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

// circleOf are files that use each other, each with what it uses of the next; nil where none do.
func circleOf(uses map[string]map[string]string) []string {
	names := slices.Sorted(maps.Keys(uses))
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

// The values of a call are small, and none holds a func: what a stage does next stands in agent/calls.go.
func TestStagesOfACallAreValues(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "agent/call.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		s, ok := spec.Type.(*ast.StructType)
		if !ok {
			return true
		}
		found++
		fields := 0
		for _, field := range s.Fields.List {
			fields += max(1, len(field.Names))
			if _, is := field.Type.(*ast.FuncType); is {
				t.Errorf("%s holds a func", spec.Name)
			}
		}
		if fields > 12 {
			t.Errorf("%s has %d fields", spec.Name, fields)
		}
		return true
	})
	if found < 8 {
		t.Errorf("only %d values of a call are found", found)
	}
}
