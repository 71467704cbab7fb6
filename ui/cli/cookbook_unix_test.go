//go:build unix

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"artoo/provider/providertest"
	"artoo/tool/needs"
)

// recipe is a play of one block of shell of the cookbook, as it is printed.
type recipe struct {
	holds   string   // a part of that block alone
	needs   []string // programs besides artoo and git
	before  string   // makes the project; what it exports holds for the block
	replies []providertest.Reply
	after   string // fails unless the recipe did what the page says; its output is in ../out
	play    func(block string) string
}

func recipes() []recipe {
	say := func(words string) []providertest.Reply {
		return []providertest.Reply{providertest.Anthropic(providertest.Text(words))}
	}
	callThen := func(tool, input string) []providertest.Reply {
		return append([]providertest.Reply{providertest.Anthropic(providertest.Call("c1", tool, input))}, say("Done.")...)
	}
	const staged = "echo b >a.txt; git add a.txt; export GIT_EDITOR=true; "
	asHook := func(block string) string {
		return "cat >.git/hooks/prepare-commit-msg <<'HOOK'\n" + block + "HOOK\n" +
			"chmod +x .git/hooks/prepare-commit-msg; git commit -q\n"
	}
	// The line of a crontab after its five fields, as cron gives it to a shell.
	asCron := func(block string) string { return block[strings.Index(block, "cd "):] }
	return []recipe{
		{holds: "review --staged", before: staged + "export GIT_EDITOR='echo Mine >'",
			replies: callThen("report_findings", `{"findings":[]}`), after: `test -z "$(git status --porcelain)"`},
		{holds: "git commit -F -", before: staged, replies: say("Say b"),
			after: `test "$(git log -1 --format=%s)" = "Say b"`},
		{holds: "#!/bin/sh", before: staged, play: asHook, replies: say("Say b"),
			after: `test "$(git log -1 --format=%s)" = "Say b"`},
		{holds: "#!/bin/sh", before: staged + "unset ANTHROPIC_API_KEY; export GIT_EDITOR='echo Mine >'", play: asHook,
			after: `test "$(git log -1 --format=%s)" = Mine; test -z "$(git status --porcelain)"`},
		{holds: "tail -n 200", needs: []string{"make"}, before: `printf 'all:\n\tfalse\n' >Makefile`,
			replies: say("false fails."), after: `grep -q "false fails" ../out`},
		{holds: "make the tests pass", replies: callThen("edit", `{"path":"a.txt","old_string":"a","new_string":"fixed"}`),
			after: `grep -q fixed a.txt; grep -q '+fixed' ../out`},
		{holds: "'*.sql'", before: "echo 'lock table a' >a.sql; git add a.sql", replies: say("Yes."),
			after: "grep -q Yes a.sql.review"},
		{holds: "jq -r .result", needs: []string{"jq"},
			replies: append(say("None."), callThen("read", `{"path":"a.txt"}`)...),
			after:   "grep -q None. ../out; grep -q a.txt ../out"},
		{holds: "0 3 * * *", play: asCron, replies: callThen("write", `{"path":"CHANGELOG.md","content":"News\n"}`),
			before: "mkdir -p ~/src ~/.config/artoo; cp -r . ~/src/shop; echo sk-test >~/.config/artoo/night.key; " +
				"unset ANTHROPIC_API_KEY ARTOO_PROVIDER",
			after: "grep -q News ~/src/shop/CHANGELOG.md; test ! -s ../out"},
		{holds: "plan.md", before: `mkdir -p ~/.config/artoo
			printf '[provider]\nprovider = "anthropic"\n[provider.openrouter]\nbase_url = "%s/v1"\n' \
				$ANTHROPIC_BASE_URL >~/.config/artoo/config.toml
			export OPENROUTER_API_KEY=sk-or-test; unset ARTOO_PROVIDER ARTOO_MODEL`,
			replies: append(say("Two packages."), providertest.Chat(providertest.Text("Carried out."))),
			after:   "grep -q 'Two packages' plan.md; grep -q 'Carried out' ../out"},
	}
}

func TestRecipesOfTheCookbookRunAsPrinted(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(moduleDir, "docs", "cookbook.md"))
	if err != nil {
		t.Fatal(err)
	}
	unplayed := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(unplayed) == 0 {
		t.Fatal("the cookbook has no recipes")
	}
	blocks := slices.Clone(unplayed)
	for _, r := range recipes() {
		holds := func(block []string) bool { return strings.Contains(block[1], r.holds) }
		i := slices.IndexFunc(blocks, holds)
		if i < 0 {
			t.Fatalf("no recipe holds %q", r.holds)
		}
		unplayed = slices.DeleteFunc(unplayed, holds)
		t.Run(r.holds, func(t *testing.T) { r.run(t, blocks[i][1]) })
	}
	for _, block := range unplayed {
		t.Errorf("no test plays this recipe:\n%s", block[1])
	}
}

// run plays the recipe in a repository with one commit.
func (r recipe) run(t *testing.T, block string) {
	t.Parallel()
	needs.Programs(t, append(r.needs, "git")...)
	if r.play != nil {
		block = r.play(block)
	}
	server := unlisted(t, r.replies...)
	dir := filepath.Join(t.TempDir(), "project")
	script := "mkdir project; cd project; git init -q; echo a >a.txt; git add a.txt; git commit -q -m first\n" + r.before +
		"\n(set +e\n" + block + ") >../out 2>&1 || true\n" + r.after + "\n"
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = filepath.Dir(dir)
	cmd.Env = home(t, "ANTHROPIC_API_KEY=sk-test", "ANTHROPIC_BASE_URL="+server.URL, "ARTOO_PROVIDER=anthropic",
		"ARTOO_MODEL=claude-sonnet-4-5",
		"PATH="+filepath.Dir(buildProgram(t, moduleDir))+string(filepath.ListSeparator)+os.Getenv("PATH"),
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	if said, err := cmd.CombinedOutput(); err != nil {
		out, errRead := os.ReadFile(filepath.Join(filepath.Dir(dir), "out"))
		t.Errorf("%v\n%s\nthe recipe printed (%v):\n%s", err, said, errRead, out)
	}
}
