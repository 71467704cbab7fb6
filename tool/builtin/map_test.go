package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/tool"
	"artoo/tool/files"
	"artoo/tool/search"
)

var mapTree = map[string]string{
	"main.go":       "package main\n\nimport \"x/cart\"\n\nfunc main() { cart.New().Sum(cart.Item{}) }\n",
	"cart/cart.go":  "package cart\n\n// Cart holds items.\ntype Cart struct {\n}\n\nfunc New() *Cart {\n",
	"cart/sum.go":   "package cart\n\nfunc (c *Cart) Sum(of Item) int {\n\ntype Item struct{}\n",
	"web/show.ts":   "import { sumUp } from './sum'\nexport function showCart() {\n",
	"web/sum.ts":    "export const sumUp = (all: Item[]) => {\n",
	"docs/notes.md": "func Notes()\n",
}

func TestMapShowsDefinitionsByFileTheMostImportantFirst(t *testing.T) {
	t.Parallel()
	env := treeEnv(t, mapTree)
	sum := "cart/sum.go\n  3: func (c *Cart) Sum(of Item) int\n  5: type Item struct{}\n"
	for name, row := range map[string]struct{ input, want string }{
		"all": {`{}`, "cart/cart.go\n  4: type Cart struct\n  7: func New() *Cart\n" + sum + "web/sum.ts\n  1: export const sumUp = (all: Item[]) =>\n" +
			"main.go\n  5: func main() { cart.New().Sum(cart.Item{}) }\nweb/show.ts\n  2: export function showCart()\n(7 of 7 definitions, from 5 source files)\n"},
		"a directory": {`{"path":"web"}`, "web/sum.ts\n  1: export const sumUp"},
		"a file":      {`{"path":"cart/sum.go"}`, sum + "cart/cart.go\n  4: type Cart"},
		"a name":      {`{"query":"SHOW"}`, "web/show.ts\n  2: export function showCart()\ncart/cart.go\n"},
		"a path":      {`{"query":"main"}`, "main.go\n  5: func main()"},
	} {
		got := mustCall(t, Map(), env, row.input)
		if !strings.HasPrefix(got.Text, row.want) || got.Summary != "7 definitions" {
			t.Errorf("%s: %s\n%s", name, got.Summary, cmp.Diff(row.want, got.Text))
		}
	}
	access, _, err := call(t, Map(), env, `{"path":"cart","query":"sum"}`)
	if want := (tool.Access{Kind: tool.KindRead, Paths: []string{filepath.Join(env.Dir, "cart"), env.Dir}, Verb: "map", Object: `"sum" in cart`}); err != nil ||
		cmp.Diff(want, access) != "" {
		t.Errorf("%v %s", err, cmp.Diff(want, access))
	}
	for input, want := range map[string]string{`{"path":"no"}`: "no", `{"path":"/"}`: "outside"} {
		if _, _, err := call(t, Map(), env, input); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", input, err)
		}
	}
}

func TestMapReadsOnlyFilesThatOtherToolsMayRead(t *testing.T) {
	t.Parallel()
	contents := map[string]string{
		".gitignore": "gen/\n", "gen/a.go": "func Ignored()\n", "own/b.go": "func Denied()\n", "c.go": "func Shown()\n",
		"binary.go": "func Binary()\n\x00\x01", "huge.go": "func Huge()\n" + strings.Repeat("// text\n", mapFile/8),
	}
	w := newFileWorld(t, contents, func(c *files.Config) { c.DenyFiles = []string{filepath.Join(c.Root, "own")} })
	w.put(filepath.Join(w.outside, "d.go"), "func Outside()\n")
	w.link(filepath.Join(w.outside, "d.go"), "e.go")
	if got := w.ok(Map(), mapInput{}).Text; got != "c.go\n  1: func Shown()\n(1 of 1 definitions, from 1 source file)\n(1 hidden file is left out)\n" {
		t.Error(got)
	}
	if access, _, err := w.call(Map(), mapInput{Path: "own/b.go"}); err != nil || !access.Denied {
		t.Errorf("%+v, %v", access, err)
	}
}

func TestMapKeepsItsBudget(t *testing.T) {
	t.Parallel()
	tree := map[string]string{"a/many.go": "package one\n"}
	for i := range 300 {
		tree[fmt.Sprintf("dir%d/file%d.go", i, i)] = fmt.Sprintf("func Function%d(argument string) (result string, err error) {\n", i)
		tree["a/many.go"] += fmt.Sprintf("func One%d(argument string) (result string, err error) {\n", i)
	}
	env := treeEnv(t, tree)
	got := mustCall(t, Map(), env, `{}`).Text
	if n := strings.Count(got, "func One"); len(got) > mapBytes+100 || len(got) < mapBytes-200 || n != mapPerFile {
		t.Errorf("%d bytes, %d of one file", len(got), n)
	}
	if got := mustCall(t, Map(), env, `{"path":"a"}`).Text; strings.Count(got, "func One") < 50 || len(got) > mapBytes+100 {
		t.Errorf("a named directory:\n%s", got)
	}
	env.ResultMax = 1500
	if got := mustCall(t, Map(), env, `{}`).Text; len(got) > 1100 {
		t.Errorf("%d bytes for a small window", len(got))
	}
}

func TestMapEndsWithItsContext(t *testing.T) {
	t.Parallel()
	env := treeEnv(t, mapTree)
	why := errors.New("the user stopped it")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(why)
	if _, err := Map().Run(ctx, env, json.RawMessage(`{}`), io.Discard); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
}

// A file is looked through again only when its content is another one, whatever its name and time.
func TestMapKeepsWhatItFoundByContent(t *testing.T) {
	t.Parallel()
	env := treeEnv(t, mapTree)
	m := newMapper()
	find := func() map[string]any {
		top, _, err := mapInput{}.places(env.Files)
		if err != nil {
			t.Fatal(err)
		}
		list, err := search.List(context.Background(), env.Files, env.Dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]any{}
		for _, s := range m.read(context.Background(), env.Files, top, list.Files) {
			found[s.Name] = s.File
		}
		return found
	}
	before := find()
	at := func(name string) string { return filepath.Join(env.Dir, name) }
	if err := errors.Join(os.Rename(at("cart/sum.go"), at("cart/total.go")), os.WriteFile(at("main.go"), []byte("func Other()\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	after := find()
	if before["cart/sum.go"] == nil || after["cart/total.go"] != before["cart/sum.go"] || after["web/sum.ts"] != before["web/sum.ts"] {
		t.Error("a file with the same content was looked through again")
	}
	if after["main.go"] == before["main.go"] || !strings.Contains(mustCall(t, m.tool(), env, `{}`).Text, "1: func Other()") {
		t.Error("a changed file is shown as it was")
	}
	if len(m.known) != 5 {
		t.Errorf("keeps %d files that are there no more", len(m.known)-5)
	}
}
