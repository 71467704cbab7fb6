package skill_test

import (
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"mvdan.cc/sh/v3/syntax"

	"artoo/tool/extension"
	"artoo/tool/skill"
)

// flat shows parts as a text: inserted ones in ‹›, shell lines in «».
func flat(parts []skill.Part) string {
	var b strings.Builder
	for _, p := range parts {
		switch {
		case p.Line:
			b.WriteString("«" + p.Text + "»")
		case p.Inserted:
			b.WriteString("‹" + p.Text + "›")
		default:
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

func TestExpand(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, args, want string }{
		"all":                     {"fix $ARGUMENTS now", "a  b", "fix ‹a  b› now"},
		"all of an at":            {"fix $@.", "a b", "fix ‹a b›."},
		"by number":               {"$2 then $1", `one "two words"`, "‹two words› then ‹one›"},
		"from the second on":      {"${@:2}", "a b c", "‹b c›"},
		"from beyond":             {"<${@:5}>", "a b", "<‹›>"},
		"no such number":          {"$1 $2", "a", "‹a› $2"},
		"no arguments":            {"fix $ARGUMENTS, it costs $5", "", "fix ‹›, it costs $5"},
		"a sum":                   {"$100", "x", "$100\n\n‹x›"},
		"another name":            {"$ARGUMENTS_DIR $HOME", "x", "$ARGUMENTS_DIR $HOME\n\n‹x›"},
		"a literal dollar":        {`\$1 and \$ARGUMENTS`, "x", "$1 and $ARGUMENTS\n\n‹x›"},
		"other backslashes":       {`a\nb`, "", `a\nb`},
		"never twice":             {"$1", "$ARGUMENTS", "‹$ARGUMENTS›"},
		"arguments with a line":   {"$ARGUMENTS", "!`id`", "‹!`id`›"},
		"no placeholder":          {"do it", "soon", "do it\n\n‹soon›"},
		"a line":                  {"diff: !`git diff`", "", "diff: «git diff»"},
		"quoted for the shell":    {"!`git log --grep $1 -- $2`", `"it's" b;c`, `«git log --grep 'it'\''s' -- 'b;c'»`},
		"all for the shell":       {"!`ls $ARGUMENTS`", "-l $(id)", "«ls '-l' '$(id)'»"},
		"within double quotes":    {"!`grep \"$1: \" x`", "$(id)", `«grep "` + `"'$(id)'"` + `: " x»`},
		"all within quotes":       {"!`grep \"$@\" x`", "a b", `«grep "` + `"'a b'"` + `" x»`},
		"within single quotes":    {"!`grep '$1' x`", "a", "«grep '" + "''a''" + "' x»"},
		"a shell's own variables": {"!`echo $HOME \"${PATH}\" $(date) $((1+1)) # x`", "", "«echo $HOME \"${PATH}\" $(date) $((1+1)) # x»"},
		"escaped for the shell":   {"!`echo \\$1`", "x", "«echo \\$1»\n\n‹x›"},
		"behind a word":           {"wow!`id`", "", "wow!`id`"},
		"quoted as code":          {"`!`id``", "", "`!`id``"},
		"counted from 0":          {"$0 to $1, not \\$2, $ARGUMENTS[1] of $ARGUMENTS[7]", "a b c", "‹a› to ‹b›, not $2, ‹b› of $ARGUMENTS[7]"},
		"a block of lines":        {"x\n```!\nid $1\ndate\n```\ny `$2`", "a b", "x\n«id 'a'\ndate»\ny `‹b›`"},
		"a block without an end":  {"```!\nid", "", "```!\nid"},
		"a line in a block":       {"```\nx !`id`\n```", "", "```\nx «id»\n```"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parts, err := skill.Expand(c.body, c.args, true)
			if diff := cmp.Diff(c.want, flat(parts)); diff != "" || err != nil {
				t.Error(err, diff)
			}
		})
	}
}

// The text of a command is copied a few times, however long it is.
func TestExpandIsLinear(t *testing.T) { // not parallel: memory is counted for all goroutines
	for _, text := range []string{"words and ", "$ ", `\$`, "!`a\n`", "é"} {
		body := strings.Repeat(text, 256<<10/len(text))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := skill.Expand(body, "", true)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; err != nil || used > 20<<20 {
			t.Errorf("%q: %d MB, %v", text, used>>20, err)
		}
	}
}

func TestLinesAreTextWhereNoneMayRun(t *testing.T) {
	t.Parallel()
	parts, err := skill.Expand("!`id $1`", "x", false)
	if got := flat(parts); got != "!`id ‹x›`" || err != nil {
		t.Error(got, err)
	}
}

// In these places quotes do not keep an argument from being run.
func TestArgumentsAreNotPutWhereTheyCannotBeQuoted(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`echo "$(git log $1)"`, `echo $(($1))`, `[[ $1 -gt 1 ]]`, `cat <<EOF $1`, `ls # $1`, `echo ${x:-$1}`,
		`echo $'$1'`, `echo $[ $1 ]`, `echo "$1`, `echo $1 \`, `echo $1 "${x}"`, `echo $$1`, `echo a$$@`,
	} {
		if parts, err := skill.Expand("!`"+line+"`", "x", true); err == nil {
			t.Errorf("%s: %s", line, flat(parts))
		}
	}
	for line, want := range map[string]string{`echo \$$1`: `«echo \$'x'»`, `echo '$'$1`: `«echo '$''x'»`, `echo "$$1"`: `«echo "$"'x'""»`} {
		if parts, err := skill.Expand("!`"+line+"`", "x", true); err != nil || flat(parts) != want {
			t.Errorf("%s: %s, %v", line, flat(parts), err)
		}
	}
}

// The directory of a bundle is no argument; in lines it is quoted where it has to be.
func TestACommandNamesTheDirectoryOfItsBundle(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ root, body, args, want string }{
		"text":             {"/b", "see ${CLAUDE_PLUGIN_ROOT}/a.md and ${extensionPath}", "", "see /b/a.md and /b"},
		"arguments follow": {"/b", "${CLAUDE_PLUGIN_ROOT}", "x", "/b\n\n‹x›"},
		"line":             {"/b", "!`sh ${CLAUDE_PLUGIN_ROOT}/x.sh $1`", "a b", "«sh /b/x.sh 'a'»"},
		"within a command": {"/b", "!`echo \"$(sh ${extensionPath}/x.sh)\"`", "", "«echo \"$(sh /b/x.sh)\"»"},
		"a path of words":  {"/a $b", "!`sh ${CLAUDE_PLUGIN_ROOT}/x.sh`", "", "«sh '/a $b'/x.sh»"},
		"quoted":           {"/a $b", "!`sh \"${CLAUDE_PLUGIN_ROOT}/x.sh\"`", "", "«sh \"\"'/a $b'\"/x.sh\"»"},
		"other forms":      {"/b", "$CLAUDE_PLUGIN_ROOT ${CLAUDE_PLUGIN_ROOT:-.}/x $CLAUDE_PLUGIN_ROOTS", "", "/b /b/x $CLAUDE_PLUGIN_ROOTS"},
		"no bundle":        {"", "${CLAUDE_PLUGIN_ROOT} !`ls ${extensionPath}`", "", "${CLAUDE_PLUGIN_ROOT} «ls ${extensionPath}»"},
	} {
		bundle := skill.Place{Origin: extension.Origin{Bundle: c.root, Root: c.root}}
		parts, err := skill.Item{Place: bundle}.Expand(c.body, c.args)
		if diff := cmp.Diff(c.want, flat(parts)); diff != "" || err != nil {
			t.Error(name, err, diff)
		}
	}
}

// A skill that is called as a command runs its lines, except for examples in blocks of code.
func TestASkillIsExpandedAsACommand(t *testing.T) {
	t.Parallel()
	i := skill.Item{Kind: extension.KindSkill, File: "/s/pdf/SKILL.md"}
	parts, err := i.Expand("Fill $0: !`ls ${CLAUDE_SKILL_DIR}`\n````md\n```\n!`id`\n```\n````\n!`date`", "form now")
	if diff := cmp.Diff("Fill ‹form›: «ls /s/pdf»\n````md\n```\n!`id`\n```\n````\n«date»", flat(parts)); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if parts, err := i.Expand("no placeholder", "x"); flat(parts) != "no placeholder" || err != nil {
		t.Error(flat(parts), err)
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	for args, want := range map[string][]string{
		"":             nil,
		" a  b\tc\n":   {"a", "b", "c"},
		`"a b" 'c "d'`: {"a b", `c "d`},
		`a\ b \"c`:     {"a b", `"c`},
		`don't do it`:  {"don't", "do", "it"},
		`it "is open`:  {"it", `"is`, "open"},
		`--x="a b" ''`: {"--x=a b", ""},
		`a\`:           {`a\`},
		"über \u00a0ß": {"über", "ß"},
	} {
		if diff := cmp.Diff(want, skill.Words(args)); diff != "" {
			t.Errorf("%q: %s", args, diff)
		}
	}
}

// shape is the structure of a shell line without the texts of its words; ok is false for none.
func shape(line string) (nodes []string, ok bool) {
	file, err := syntax.NewParser().Parse(strings.NewReader(line), "")
	if err != nil {
		return nil, false
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case nil, *syntax.Lit, *syntax.SglQuoted, *syntax.DblQuoted, *syntax.Word:
		case *syntax.CallExpr:
			nodes = append(nodes, "call")
		case *syntax.ParamExp:
			nodes = append(nodes, "parameter "+n.Param.Value)
		default:
			nodes = append(nodes, strings.TrimPrefix(strings.TrimPrefix(typeName(n), "*"), "syntax."))
		}
		return true
	})
	return nodes, true
}

func typeName(n syntax.Node) string {
	var b strings.Builder
	if err := syntax.DebugPrint(&b, n); err != nil {
		return err.Error()
	}
	name, _, _ := strings.Cut(b.String(), " {")
	return name
}

// FuzzExpand expands any body with any arguments: inserted text is as the user typed it, nothing is
// expanded twice, and arguments add no command to a shell line.
func FuzzExpand(f *testing.F) {
	for _, seed := range [][2]string{
		{"fix $ARGUMENTS and $1, ${@:2}", "a 'b c' $1"}, {"!`git log \"$1\" '$2' $@`", "$(id) `id` \\"},
		{"!`a $1; b \"x$2\" | c`", "'; rm -rf / #"}, {"!`cat < $1 > '$2'`", "\"$(id)\" \n&"}, {`\$1 !` + "`x \\\"$1`", `"`},
		{"!`echo a$1b=$2 ~$3 {$1,$2}`", "* ? ~"}, {"!`if $1; then $2; fi`", "! {"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, body, args string) {
		if strings.ContainsAny(args, "\x00") || strings.Contains(body, "§") || !utf8.ValidString(body) || !utf8.ValidString(args) {
			return
		}
		parts, err := skill.Expand(body, args, true)
		if err != nil {
			return
		}
		// Arguments of as many plain words give the shape that the author wrote.
		plain := strings.TrimSpace(strings.Repeat("§ ", len(skill.Words(args))))
		model, err := skill.Expand(body, plain, true)
		if err != nil || len(model) != len(parts) {
			t.Fatalf("%q, %q: %d parts, with plain arguments %d (%v)", body, args, len(parts), len(model), err)
		}
		for i, p := range parts {
			switch {
			case p.Line != model[i].Line || p.Inserted != model[i].Inserted:
				t.Fatalf("%q, %q: part %d is %+v, with plain arguments %+v", body, args, i, p, model[i])
			case p.Inserted && !strings.Contains(args, p.Text) && p.Text != "" && !isWords(p.Text, skill.Words(args)):
				t.Errorf("%q, %q: inserted %q", body, args, p.Text)
			case !p.Line && !p.Inserted && p.Text != model[i].Text:
				t.Errorf("%q, %q: the body's own text is %q", body, args, p.Text)
			case p.Line:
				want, parses := shape(model[i].Text)
				got, ok := shape(p.Text)
				if !parses { // No shell runs such a line.
					continue
				}
				if diff := cmp.Diff(want, got); !ok || diff != "" {
					t.Errorf("%q with %q runs %q: %s", body, args, p.Text, diff)
				}
			}
		}
	})
}

// isWords reports whether a text is some of the words in a row.
func isWords(text string, words []string) bool {
	for i := range words {
		for k := i + 1; k <= len(words); k++ {
			if strings.Join(words[i:k], " ") == text {
				return true
			}
		}
	}
	return false
}
