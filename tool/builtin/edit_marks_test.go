package builtin

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"artoo/tool"
)

const (
	oneMark = "‹secret:1a2b3c4d5e6f›"
	twoMark = "‹secret:9f9f9f9f9f9f›"
)

// showMarks makes KEY-ONE and KEY-UNO one mark's, and KEY-TWO another's.
func showMarks(text string) (found []tool.Secret) {
	for _, at := range regexp.MustCompile(`KEY-[A-Z]+`).FindAllStringIndex(text, -1) {
		mark := oneMark
		if text[at[0]:at[1]] == "KEY-TWO" {
			mark = twoMark
		}
		found = append(found, tool.Secret{From: at[0], To: at[1], Mark: mark})
	}
	return found
}

func TestAMarkInAnEditStandsForWhatIsThere(t *testing.T) {
	file := "a = 1\nb = 2\ntoken = KEY-ONE\nc = 3\nd = 4\nother = KEY-TWO\nlast = 5\n"
	type edit = map[string]any
	one := func(old, new string) edit { return edit{"path": "f", "old_string": old, "new_string": new} }
	for name, c := range map[string]struct {
		file  string
		in    edit
		want  string
		moves bool
		why   string
	}{
		"two lines away": {file, one("token = "+oneMark+"\nc = 3\nd = 4", "token = "+oneMark+"\nc = 3\nd = 9"),
			strings.Replace(file, "d = 4", "d = 9", 1), false, ""},
		"the line itself": {file, one("token = "+oneMark, "key = "+oneMark),
			strings.Replace(file, "token", "key", 1), true, ""},
		"the line before": {file, one("b = 2\ntoken = "+oneMark, "b = 3\ntoken = "+oneMark),
			strings.Replace(file, "b = 2", "b = 3", 1), true, ""},
		"swapped": {file, one(oneMark+"\nc = 3\nd = 4\nother = "+twoMark, twoMark+"\nc = 3\nd = 4\nother = "+
			oneMark), strings.NewReplacer("KEY-ONE", "KEY-TWO", "KEY-TWO", "KEY-ONE").Replace(file), true, ""},
		"as a list": {file, edit{"path": "f",
			"edits": []edit{{"old_string": "token = " + oneMark, "new_string": "t = " + oneMark}}},
			strings.Replace(file, "token", "t", 1), true, ""},
		"copied":     {file, one("c = 3", "c = "+oneMark), "", false, "as often"},
		"doubled":    {file, one(oneMark, oneMark+oneMark), "", false, "as often"},
		"taken away": {file, one("token = "+oneMark, "token = ''"), "", false, "as often"},
		"another's": {file, one("‹secret:000000000000›", "x ‹secret:000000000000›"), "",
			false, "not for one in this file"},
		"an old short one": {file, one("‹secret:1a2b›", "x ‹secret:1a2b›"), "", false, "not for one in this file"},
		"fits two":         {file + "z = KEY-UNO\n", one("token = "+oneMark, "key = "+oneMark), "", false, "two values"},
		"stands there": {file + "doc = " + oneMark + "\n", one("token = "+oneMark, "key = "+oneMark), "",
			false, "as it is"},
		"in the path":   {file, edit{"path": oneMark, "old_string": "a", "new_string": "b"}, "", false, ""},
		"no mark in it": {file, one("a = 1", "a = 2"), strings.Replace(file, "a = 1", "a = 2", 1), false, ""},
		"every place of it": {file + "z = KEY-ONE\n", edit{"path": "f", "old_string": "= " + oneMark,
			"new_string": ": " + oneMark, "replace_all": true},
			strings.ReplaceAll(file+"z = KEY-ONE\n", "= KEY-ONE", ": KEY-ONE"), true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFileWorld(t, map[string]string{"f": c.file})
			w.env.Secrets = showMarks
			access, _, err := w.call(Edit(), c.in)
			now, readErr := os.ReadFile(w.path("f"))
			if readErr != nil {
				t.Fatal(readErr)
			}
			want := c.want
			if want == "" {
				want = c.file
			}
			if string(now) != want || (err != nil) != (c.want == "") || (access.MovesSecret != "") != c.moves {
				t.Errorf("the file is %q, want %q; %q, %v", now, want, access.MovesSecret, err)
			}
			if err != nil && !strings.Contains(err.Error(), c.why) {
				t.Errorf("refused with %v, want %q", err, c.why)
			}
		})
	}
}
