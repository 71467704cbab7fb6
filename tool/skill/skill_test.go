package skill_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"artoo/tool/extension"
	"artoo/tool/skill"
)

// tree writes files below a new directory.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func head(name, description string) string {
	return "---\nname: " + name + "\ndescription: " + description + "\n---\n# " + name + "\n"
}

// library has the files of one place.
func library(kind extension.Kind, dir, name string) *skill.Library {
	return skill.New([]skill.Place{{Kind: kind, Dir: dir, Origin: extension.Origin{Place: name}}}, nil)
}

func named(items []skill.Item) (names []string) {
	for _, i := range items {
		names = append(names, i.Name+": "+i.Description)
	}
	return names
}

func TestTheNearestSkillWins(t *testing.T) {
	t.Parallel()
	near := tree(t, map[string]string{"pdf/SKILL.md": head("pdf", "near"), "group/x/SKILL.md": head("x", "in a group")})
	far := tree(t, map[string]string{"pdf/SKILL.md": head("pdf", "far"), "hidden/SKILL.md": head("hidden", "h")})
	l := skill.New([]skill.Place{
		{Kind: extension.KindSkill, Dir: near, Origin: extension.Origin{Place: ".artoo/skills"}},
		{Kind: extension.KindSkill, Dir: far, Origin: extension.Origin{Place: "~/.agents/skills"}},
	}, []string{"hidden"})
	if diff := cmp.Diff([]string{"pdf: near", "x: in a group"}, named(l.Items(extension.KindSkill))); diff != "" {
		t.Error(diff)
	}
	hidden := []string{"~/.agents/skills/pdf/SKILL.md is hidden by .artoo/skills/pdf/SKILL.md"}
	if diff := cmp.Diff(hidden, l.Shadowed(extension.KindSkill)); diff != "" {
		t.Error(diff)
	}
}

func TestParsingIsLenient(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"colon/SKILL.md":              "---\nname: colon\ndescription: Use when: it rains\nallowed-tools: Bash(git:*), Read\n---\nx",
		"mark/SKILL.md":               "\xef\xbb\xbf---\r\nname: mark\r\ndescription: has a mark\r\n---\r\nx",
		"folder/SKILL.md":             "---\nname: not a name!\ndescription: |\n  two\n  lines\ndisable-model-invocation: true\n---\nx",
		"twice/SKILL.md":              "---\nname: twice\ndescription: 2026-11-28\nname: twice\nmetadata:\n\tx: 1\n---\nx",
		"long/SKILL.md":               "---\nname: long\ndescription: " + strings.Repeat("word ", 2000) + "\n---\nx",
		"none/SKILL.md":               "# no front matter\n",
		"broken/SKILL.md":             "---\nname: broken\ndescription: [\n---\nx",
		"huge/SKILL.md":               head("huge", "too long") + strings.Repeat("x", 257<<10),
		"a b/SKILL.md":                head("", "no name that could be typed"),
		"colon/scripts/in/SKILL.md":   head("inner", "belongs to colon"),
		".git/x/SKILL.md":             head("git", "is git's"),
		"node_modules/y/SKILL.md":     head("module", "is a package's"),
		"1/2/3/4/5/6/7/deep/SKILL.md": head("deep", "too deep"),
		"SKILL.md":                    head("root", "the place itself is no skill"),
	})
	l := library(extension.KindSkill, dir, "skills")
	var names []string
	for _, i := range l.Items(extension.KindSkill) {
		names = append(names, i.Name)
		if i.NoModel != (i.Name == "folder") || i.Description == "" {
			t.Errorf("%+v", i)
		}
	}
	if diff := cmp.Diff([]string{"colon", "folder", "long", "mark", "twice"}, names); diff != "" {
		t.Error(diff)
	}
	want := []string{
		"skills/1/2/3/4/5/6: more than 5 directories deep, so left out",
		"skills/a b/SKILL.md: its name can have ASCII letters, digits, and . _ : - only",
		"skills/broken/SKILL.md line 3: the value of description is not valid YAML",
		"skills/huge/SKILL.md: longer than 256.0 KB", "skills/none/SKILL.md: it has no description",
	}
	if diff := cmp.Diff(want, l.Skipped(extension.KindSkill)); diff != "" {
		t.Error(diff)
	}
}

// wide is a text in UTF-16 with its mark.
func wide(text string) (raw []byte) {
	for _, unit := range utf16.Encode([]rune("\ufeff" + text)) {
		raw = binary.LittleEndian.AppendUint16(raw, unit)
	}
	return raw
}

func TestCommandsAndAgents(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"fix.md":          "---\ndescription: Fix it\nargument-hint: [issue] [priority]\nmodel: sonnet\nagent: review\n---\nFix $1.\n",
		"git/commit.md":   "Commit.\n",
		"git/README":      "no command",
		"wide.md":         string(wide("---\r\ndescription: From PowerShell\r\n---\r\nGo.")),
		"binary.md":       "\x00\x01",
		"git/.hidden.md":  "no command",
		"agents/check.md": "---\nname: check\ndescription: Looks\ntools: Read, Grep\nmodel: inherit\n---\nYou look.\n",
	})
	bundled := extension.Origin{Place: "commands", Bundle: "b"}
	l := skill.New([]skill.Place{{Kind: extension.KindCommand, Dir: dir, Origin: bundled},
		{Kind: extension.KindAgent, Dir: filepath.Join(dir, "agents"), Origin: extension.Origin{Place: "agents"}}}, nil)
	commands := []string{"b:agents:check: Looks", "b:fix: Fix it", "b:git:commit: ", "b:wide: From PowerShell"}
	if diff := cmp.Diff(commands, named(l.Items(extension.KindCommand))); diff != "" {
		t.Error(diff)
	}
	fix, _ := l.Find(extension.KindCommand, "b:fix")
	body, err := fix.Body()
	if fix.Hint != "[issue] [priority]" || fix.Model != "sonnet" || fix.Agent != "review" || body != "Fix $1." || err != nil {
		t.Errorf("%+v, %q, %v", fix, body, err)
	}
	check, _ := l.Find(extension.KindAgent, "check")
	if diff := cmp.Diff([]string{"Read", "Grep"}, check.Tools); diff != "" || check.Model != "" {
		t.Error(diff, check.Model)
	}
}

// A repository's files are those that the user trusted, whatever its directory holds by now.
func TestTakenFilesAreNotReadAgain(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"pdf/SKILL.md": head("pdf", "changed since"), "new/SKILL.md": head("new", "is new")})
	from := extension.Origin{Source: extension.SourceRepository, Place: ".agents/skills"}
	l := skill.New([]skill.Place{{Kind: extension.KindSkill, Dir: dir, Origin: from, Taken: map[string][]byte{
		"pdf/SKILL.md": []byte(head("pdf", "trusted")), "pdf/scripts/a.py": nil, "pdf/b.txt": nil, "pdf/1/2/3/4/5/6/SKILL.md": nil,
		"1/2/3/4/5/6/7/deep/SKILL.md": []byte(head("deep", "too deep"))}}}, nil)
	deep := []string{".agents/skills/1/2/3/4/5/6: more than 5 directories deep, so left out"}
	if diff := cmp.Diff(deep, l.Skipped(extension.KindSkill)); diff != "" {
		t.Error(diff)
	}
	items := l.Items(extension.KindSkill)
	if diff := cmp.Diff([]string{"pdf: trusted"}, named(items)); diff != "" {
		t.Fatal(diff)
	}
	files, more := items[0].Files(50)
	if diff := cmp.Diff([]string{"1/2/3/4/5/6/SKILL.md", "b.txt", "scripts/a.py"}, files); diff != "" || more {
		t.Error(diff, more)
	}
}

func TestFilesOfASkill(t *testing.T) {
	t.Parallel()
	all := map[string]string{"pdf/SKILL.md": head("pdf", "d"), "pdf/.git/x": "", "pdf/node_modules/y/z": ""}
	for n := range 60 {
		all[fmt.Sprintf("pdf/scripts/%02d.py", n)] = ""
	}
	l := library(extension.KindSkill, tree(t, all), "skills")
	files, more := l.Items(extension.KindSkill)[0].Files(50)
	if len(files) != 50 || !more || files[0] != "scripts/00.py" {
		t.Error(len(files), more, files)
	}
}

// A skill that is kept elsewhere, and linked to, has its files.
func TestFilesOfALinkedSkill(t *testing.T) {
	t.Parallel()
	kept, dir := tree(t, map[string]string{"pdf/SKILL.md": head("pdf", "d"), "pdf/scripts/x.py": ""}), t.TempDir()
	if err := os.Symlink(filepath.Join(kept, "pdf"), filepath.Join(dir, "pdf")); err != nil {
		t.Fatal(err)
	}
	l := library(extension.KindSkill, dir, "skills")
	files, _ := l.Items(extension.KindSkill)[0].Files(50)
	if diff := cmp.Diff([]string{"scripts/x.py"}, files); diff != "" {
		t.Error(diff)
	}
}

func TestMoreThan500FilesAreNamed(t *testing.T) {
	t.Parallel()
	all := map[string]string{}
	for n := range 501 {
		all[fmt.Sprintf("%03d.md", n)] = "x"
	}
	l := library(extension.KindCommand, tree(t, all), "commands")
	if n := len(l.Items(extension.KindCommand)); n != 500 {
		t.Error(n)
	}
	many := []string{"commands: 501 files; only the first 500 are read"}
	if diff := cmp.Diff(many, l.Skipped(extension.KindCommand)); diff != "" {
		t.Error(diff)
	}
}

func TestTheCatalogueKeepsToItsBytes(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 5, 60, 500} {
		var items []skill.Item
		for i := range n {
			items = append(items, skill.Item{Name: fmt.Sprintf("skill-%d", i), Description: strings.Repeat("does \"things\" with übung ", 1+i%9)})
		}
		for _, most := range []int{100, 1300, 5000} {
			text := skill.Catalogue(items, most, "query finds them")
			size, err := json.Marshal(text)
			if err != nil || len(size)-2 > most {
				t.Errorf("%d items in %d bytes: %d (%v)\n%s", n, most, len(size)-2, err, text)
			}
			names := 0
			for line := range strings.SplitSeq(text, "\n") {
				if strings.HasPrefix(line, "skill-") {
					names++
				}
			}
			if names < n && !strings.Contains(text, fmt.Sprintf("(and %d more: query finds them)", n-names)) && n > 0 {
				t.Errorf("%d items in %d bytes: %d named, the rest is not counted:\n%s", n, most, names, text)
			}
		}
	}
	// 60 names fit, with something of each description.
	var items []skill.Item
	for i := range 60 {
		items = append(items, skill.Item{Name: fmt.Sprintf("s%d", i), Description: "Fills forms in documents of the office"})
	}
	if text := skill.Catalogue(items, 1300, "query finds them"); strings.Count(text, ": Fill") != 60 {
		t.Error(text)
	}
	if text := skill.Catalogue(items[:2], 1300, "query finds them"); text != "s0: Fills forms in documents of the office\ns1: Fills forms in documents of the office" {
		t.Errorf("%q", text)
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	items := []skill.Item{{Name: "a", Description: "Excel files"}, {Name: "pdf", Description: "fills forms in PDF files"}, {Name: "z", Description: "other"}}
	if diff := cmp.Diff([]string{"pdf: fills forms in PDF files", "a: Excel files"}, named(skill.Search(items, "PDF files"))); diff != "" {
		t.Error(diff)
	}
}
