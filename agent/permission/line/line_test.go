package line_test

import (
	"slices"
	"strings"
	"testing"

	"artoo/agent/permission/line"
)

// shown are the commands of a line with the directories in which they may run; one that is not
// certain stands behind a question mark.
func shown(read line.Line) (list []string) {
	for _, c := range read.Commands {
		text := c.String() + " @" + strings.Join(c.Dirs, ",")
		if !c.Certain {
			text = "?" + text
		}
		list = append(list, text)
	}
	return list
}

func TestALineIsReadIntoItsCommands(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"ls -la && cat 'a b' | wc":     {"ls -la @/p", "cat 'a b' @/p", "wc @/p"},
		"cd sub && cat a; pwd":         {"cd sub @/p", "cat a @/p/sub", "pwd @/p/sub,/p"},
		"cd $x; cat a":                 {"cd $x @/p", "cat a @"},
		"x=sub; cd $x && cat a > $x/b": {"x=sub @/p", "cd $x @/p", "cat a > $x/b @", "?cd sub @/p", "?cat a > sub/b @/p/sub"},
		"timeout 5 sh -c 'rm a'":       {"rm a  (by sh) @", "sh -c 'rm a'  (by timeout) @/p"},
		"timeout 5 bash -c 'rm a'":     {"rm a  (by bash) @/p"},
		"echo $(date) > out":           {"date @/p", "echo $(date) > out @/p"},
		"echo 'rm a' | bash":           {"echo 'rm a' @/p", "bash @/p", "?rm a @/p"},
		"for f in a b; do rm $f; done": {"rm a @/p", "rm b @/p"},
		"find . -exec rm {} +":         {"find . -exec rm {} + @/p", "rm {} @"},
		"x=rm; x=ls; $x -r a":          {"x=rm @/p", "x=ls @/p", "$x -r a @/p", "?rm @/p", "?ls @/p", "?rm -r a @/p", "?ls -r a @/p"},
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
		{"ls", "", "zh_CN.GBK", "zh_CN.GBK"}, {"ls <<< x", "sh", "", "could not be parsed"}, {"ls\u00a0x", "", "", "could not be parsed"},
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
		writes         string
		needs          line.Need
	}{
		{"rm -rf a", "rm -r", "a", ""}, {"git -C x reset --hard", "git reset --hard", "", ""}, {"cp a b c", "", "c c/a c/b", ""},
		{"echo x > a", "", "a", ""}, {"git push -f", "git push --force", "", line.Network}, {"sudo ls", "", "", line.Service},
		{"curl http://localhost:80/", "", "http://localhost:80/", ""}, {"gh pr list", "", "", line.Keys}, {"npx tsc", "", "", line.Network},
	} {
		commands := line.Parse(row.text, "/p", line.Shell{}).Commands
		c := commands[len(commands)-1]
		need, _ := c.Needs()
		if writes := strings.Join(line.Texts(c.Writes()), " "); c.Destroys() != row.destroys || writes != row.writes || need != row.needs {
			t.Errorf("%s: destroys %q, writes %q, needs %q", row.text, c.Destroys(), writes, need)
		}
	}
}
