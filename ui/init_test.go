package ui

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/tool"
)

var updateInit = flag.Bool("update-init", false, "rewrite the golden files of /init")

// projects are small trees; testdata/init holds what is written for each.
var projects = map[string]map[string]string{
	"go": {
		"go.mod": "module example.org/shop\n\ngo 1.26\n", "main.go": "", "internal/cart/week.go": "", "internal/cart/week_test.go": "", "cmd/shop/main.go": "",
		"scripts/release.sh": "", "README.md": "", "CLAUDE.md": "", ".gitignore": "dist/\n", "dist/shop.go": "", ".env": "TOKEN=hunter2",
		"Makefile":                 "GO := go\n.PHONY: all build\n\nrun: build\n\t./shop\n\nbuild: ## the `binary`\n\t$(GO) build ./...\n\n%.o: %.c\n\ntest:: build # not shown\n\tgo test ./...\nfile.txt: x\nFLAGS = a:b\nrelease: FLAGS=x\n",
		".github/workflows/ci.yml": "on: push\njobs:\n  test:\n    steps:\n      - uses: actions/checkout@v4\n      - run: go test -race ./...\n      - name: lint\n        run: |\n          # a comment\n          staticcheck ./...\n\n          echo ${{ secrets.TOKEN }}\n          long \\\n            line\n      - run: \"gofmt -l .\"\n      - run: go test -race ./...\n",
	},
	"web": {
		"package.json":   `{"name":"shop-web","scripts":{"start":"vite","lint":"eslint .","odd name":"x","test":"vitest run --coverage --reporter=verbose --this-goes-on-and-on-for-long","build":"tsc && vite build"}}`,
		"pnpm-lock.yaml": "", "src/app.ts": "", "src/app.test.ts": "", "src/view.tsx": "", "index.html": "", "node_modules/x/index.js": "", ".gitignore": "node_modules\n",
		"justfile": "set shell := [\"bash\"]\nversion := \"1\"\n# serve it\nserve port='80': build\n  x\n\nbuild:\n  y\n_private:\n  z\n", "AGENT.md": "",
	},
	"mixed": {
		"pyproject.toml": "[project]\nname = \"tools\"\n[tool.pytest.ini_options]\n[tool.ruff]\n", "Cargo.toml": "[package]\nname = \"core\"\n",
		"core/lib.rs": "", "tools/a.py": "", "tools/b.py": "", "gradlew": "", "notes.txt": "", "CONTRIBUTING.md": "",
	},
	"hostile": {
		"go.mod": "module evil\x1b[2J`x`\n", "Makefile": "test: ## a\x1b]0;t\x07b `c`\n", "package.json": `{"scripts":{"a\u001b[31m":"\u202edanger"}}`,
		"a`b\nc/x.go": "", "pyproject.toml": "not toml [", ".github/workflows/x.yml": "steps:\n  - run: echo \"\x1b[31m`\"\n",
	},
	"text": {"notes.txt": "", "more.txt": ""},
}

func TestInitGolden(t *testing.T) {
	for name, tree := range projects {
		t.Run(name, func(t *testing.T) {
			a := reaching(t, tree)
			a.home = ""
			o, err := survey(t.Context(), a.env)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.ReplaceAll(o.markdown(), filepath.Base(a.env.Dir), "DIRECTORY")
			path := filepath.Join("testdata", "init", name+".md")
			if *updateInit {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("-update-init rewrites it:\n%s", diff)
			}
			if strings.ContainsAny(got, "\x1b\x07\u202e") || strings.Contains(got, "hunter2") {
				t.Errorf("%q", got)
			}
		})
	}
}

// However much there is to tell, the page stays short.
func TestInitIsShort(t *testing.T) {
	tree := map[string]string{"README.md": "", "README.rst": "", "README": "", "CONTRIBUTING.md": "", "ARCHITECTURE.md": "", "docs/architecture.md": "", "DESIGN.md": "",
		"AGENT.md": "", "CLAUDE.md": "", "GEMINI.md": "", ".cursorrules": "", ".github/copilot-instructions.md": "", "go.mod": "", "Cargo.toml": "", "tox.ini": ""}
	var targets, steps strings.Builder
	for i := range 100 {
		fmt.Fprintf(&targets, "target%d:\n", i)
		fmt.Fprintf(&steps, "- run: step %d\n", i)
		tree[fmt.Sprintf("dir%d/file", i)] = ""
	}
	targets.WriteString("test:\n")
	tree["Makefile"], tree[".github/workflows/a.yml"], tree[".github/workflows/b.yml"] = targets.String(), steps.String(), steps.String()
	a := reaching(t, tree)
	o, err := survey(t.Context(), a.env)
	if err != nil {
		t.Fatal(err)
	}
	text := o.markdown()
	if n := strings.Count(text, "\n"); n >= 80 || !strings.Contains(text, "`make test`") {
		t.Errorf("%d lines:\n%s", n, text)
	}
}

func TestInitialise(t *testing.T) {
	a := reaching(t, projects["go"])
	a.home = ""
	path := filepath.Join(a.env.Dir, "AGENTS.md")
	notes, err := initialise(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		fmt.Sprintf("wrote %s, %d lines; look it over, every session here begins with it", path, strings.Count(string(data), "\n")),
		"CLAUDE.md was read until now; AGENTS.md comes before it and names it: join the two",
	}
	if diff := cmp.Diff(want, notes); diff != "" || !strings.Contains(string(data), "`CLAUDE.md`") {
		t.Errorf("%s\n%s", diff, data)
	}
	if err := os.WriteFile(path, []byte("run go vet ./... and make test\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	notes, err = initialise(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	want = []string{"AGENTS.md is there already and stays as it is", "commands it does not name: make build; make run; go build ./...; go test ./...; go test -race ./...; staticcheck ./...; gofmt -l ."}
	if diff := cmp.Diff(want, notes); diff != "" {
		t.Error(diff)
	}
	if now, err := os.ReadFile(path); string(now) != "run go vet ./... and make test\n" || err != nil {
		t.Errorf("it now holds %q, %v", now, err)
	}
}

func TestInitialiseRefuses(t *testing.T) {
	a := reaching(t, map[string]string{"a.go": ""}) // its directory is also the home
	if _, err := initialise(t.Context(), a); err == nil || !strings.Contains(err.Error(), "is no project") {
		t.Errorf("in the home directory: %v", err)
	}
	if _, err := os.Stat(filepath.Join(a.env.Dir, "AGENTS.md")); err == nil {
		t.Error("a file was written into the home directory")
	}
	if _, err := initialise(t.Context(), fileAccess{env: &tool.Env{}}); err == nil {
		t.Error("without files it did not fail")
	}
}
