package line_test

import (
	"slices"
	"strings"
	"testing"

	"artoo/agent/permission/line"
)

// shown are the commands of a line, each with the directory in which it runs.
func shown(read line.Line) (list []string) {
	for _, c := range read.Commands {
		list = append(list, c.String()+" @"+c.Dir)
	}
	return list
}

func TestALineIsReadIntoItsCommands(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"ls -la && cat 'a b' | wc": {"ls -la @/p", "cat 'a b' @/p", "wc @/p"},
		"cd sub && cat a && (cat b; cat c) | wc": {"cd sub @/p", "cat a @/p/sub", "cat b @/p/sub", "cat c @/p/sub",
			"wc @/p/sub"},
		"(cd sub && make); ls":                    {"cd sub @/p", "make @/p/sub", "ls @/p"},
		"cd sub; pwd":                             {"cd sub @/p", "pwd @"},
		"cd sub || make":                          {"cd sub @", "make @"},
		"cd $x && cat a":                          {"cd $x @/p", "cat a @"},
		"x=sub; $x a > $x/b":                      {"x=sub @/p", "$x a > $x/b @/p"},
		"timeout 5 sh -c 'rm a'":                  {"rm a  (by sh) @/p", "sh -c 'rm a'  (by timeout) @/p"},
		"timeout 5 bash -c 'cd x && rm a'":        {"cd x  (by bash) @/p", "rm a  (by bash) @/p/x"},
		"echo $(date) > out":                      {"date @/p", "echo $(date) > out @/p"},
		"for f in a b; do rm $f; done":            {"rm $f @/p"},
		"for PATH in .; do ls; done":              {"for @", "ls @/p"},
		"[[ -f x ]] && ls":                        {"'[[' @/p", "ls @/p"},
		"find . -exec rm {} +":                    {"find . -exec rm {} + @/p", "rm {} @"},
		"git submodule foreach 'git push'":        {"git submodule foreach 'git push' @/p"},
		"git bisect run make x":                   {"git bisect run make x @/p"},
		"git rebase --exec='git push' -x ls main": {"git rebase '--exec=git push' -x ls main @/p"},
		"trap 'rm x' EXIT; alias g=git; g push":   {"trap 'rm x' EXIT @/p", "alias g=git @", "g push @"},
		"bash <<< 'rm x'":                         {"bash @/p"},
	} {
		read := line.Parse(text, "/p", line.Shell{})
		if got := shown(read); !slices.Equal(got, want) || read.Problem != "" {
			t.Errorf("%s: %q, expected %q (%s)", text, got, want, read.Problem)
		}
	}
}

func TestAProblemSaysWhyTheShellMayTakeALineInAnotherWay(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ text, shell, locale, want string }{
		{"ls", "", "", ""}, {"ls", "fish", "", "how fish parses"}, {"ls 'x", "", "", "could not be parsed"},
		{"ls", "", "zh_CN.GBK", "zh_CN.GBK"}, {"ls <<< x", "sh", "", "could not be parsed"}, {"ls\u00a0x", "", "",
			"could not be parsed"},
	} {
		read := line.Parse(row.text, "/p", line.Shell{Name: row.shell, Locale: row.locale})
		if !strings.Contains(read.Problem, row.want) || (read.Problem == "") != (row.want == "") {
			t.Errorf("%+v: %q", row, read.Problem)
		}
	}
}

func TestCommandsAreDescribedByTheirWords(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		text, destroys string
		kept           bool
		needs          line.Need
	}{
		{"rm -rf a", "rm -r", true, ""}, {"git -C x reset --hard", "git reset --hard", false, ""}, {"cp a b", "",
			false, ""},
		{"echo x > a", "", false, ""}, {"git push -f", "git push --force", false, line.Network},
		{"sudo ls", "", false, line.Service}, {"curl http://localhost:80/", "", false, ""}, {"gh pr list", "",
			false, line.Keys},
		{"npx tsc", "", false, line.Network},
	} {
		commands := line.Parse(row.text, "/p", line.Shell{}).Commands
		c := commands[len(commands)-1]
		need, _ := c.Needs()
		if what, kept := c.Destroys(); what != row.destroys || kept != row.kept || need != row.needs {
			t.Errorf("%s: destroys %q, %t, needs %q", row.text, what, kept, need)
		}
	}
}

func TestGuessesFindWhatATextMayHide(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{`x="rm -rf q"; $x`: "rm -rf q", "echo 'rm -rf q' | sh": "rm -rf q",
		`bind -x '"a":rm -rf q'`: "rm -rf q",
		`r\m -rf q`:              "rm -rf q", "git submodule foreach 'git push'": "git push",
		"git rebase --exec='git push' main": "git push main",
		"alias g=git; g push":               "git push", "git -c alias.p=push p": "git push p", "git send-pack x": "git push x"} {
		if !slices.ContainsFunc(line.Guesses(text), func(c line.Command) bool { return c.String() == want }) {
			t.Errorf("%s: %v", text, line.Guesses(text))
		}
	}
}
