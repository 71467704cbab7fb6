package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// foreignProgram is a program of another module, which has an agent of its own.
const foreignProgram = `package main

import (
	"context"
	"fmt"

	"example.org/you/artoo.git/agent"
	"example.org/you/artoo.git/provider"
	"example.org/you/artoo.git/provider/fake"
)

func main() {
	model := &fake.Provider{Steps: []fake.Step{fake.Say("Built elsewhere.")}}
	a, err := agent.New(agent.Options{Model: agent.Model{Provider: model, Name: fake.Name, Defaults: provider.Options{Model: "m"}},
		Sessions: agent.Sessions{Ephemeral: true}})
	if err != nil {
		panic(err)
	}
	answer, err := a.SendMessage(context.Background(), "hello", agent.NopCallbacks{})
	if err != nil {
		panic(err)
	}
	fmt.Println(answer.Text)
}
`

// TestPublishedModule renames a clone with make module and tags it. Then go install installs the program from
// there, and a program of another module is built with its packages. A name that ends in .git is asked for by git
// alone, without a web server.
func TestPublishedModule(t *testing.T) {
	const name = "example.org/you/artoo.git"
	s := sandbox{dir: t.TempDir()}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	clone, foreign := filepath.Join(s.dir, "clone"), filepath.Join(s.dir, "foreign")
	s.must(t, s.dir, "git", "clone", "-q", root, clone)
	s.must(t, clone, "make", "module", "NAME="+name)
	for _, left := range strings.Fields(s.must(t, clone, "sh", "-c",
		`find . -name '*.old'; go list -f '{{.ImportPath}}' ./...; find . -mindepth 2 -name go.mod -exec sed -n 's/^module //p' {} +`)) {
		if old, _, _ := strings.Cut(left, "/"); old == "artoo" || strings.HasSuffix(left, ".old") {
			t.Errorf("after make module there is %s", left)
		}
	}
	s.must(t, clone, "git", "-c", "user.name=A Publisher", "-c", "user.email=a@publisher.test", "commit", "-qam", "The module's name")
	s.must(t, clone, "git", "tag", "v1.0.0-rc.1")

	// The modules that artoo requires come from this machine's cache.
	cache := strings.TrimSpace(s.must(t, clone, "go", "env", "GOMODCACHE"))
	env := []string{"GOBIN=" + s.dir, "GOFLAGS=-modcacherw", "GOPROXY=file://" + filepath.Join(cache, "cache", "download"),
		"GOMODCACHE=" + filepath.Join(s.dir, "modules"), "GOPRIVATE=example.org", "GONOSUMDB=*", "CGO_ENABLED=0",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url.file://" + clone + ".insteadOf", "GIT_CONFIG_VALUE_0=https://" + strings.TrimSuffix(name, ".git")}
	run := func(dir, program string, args ...string) string {
		t.Helper()
		out, err := s.run(t, dir, env, program, args...)
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
		}
		return out
	}
	run(s.dir, "go", "install", name+"@latest")
	if got := run(s.dir, filepath.Join(s.dir, "artoo.git"), "version"); !strings.HasPrefix(got, "artoo 1.0.0-rc.1\n") {
		t.Errorf("the installed program is %q", got)
	}

	if err := os.Mkdir(foreign, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(foreign, "main.go"), []byte(foreignProgram), 0o600); err != nil {
		t.Fatal(err)
	}
	run(foreign, "go", "mod", "init", "example.com/foreign")
	run(foreign, "go", "get", name+"@latest")
	if got := run(foreign, "go", "run", "."); got != "Built elsewhere.\n" {
		t.Errorf("the program prints %q", got)
	}
}
