package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"artoo/agent"
)

// markStart begins the mark in place of a key.
const markStart = "‹secret:"

var markPattern = regexp.MustCompile(`‹secret:[0-9a-f]{12}›`)

func (t *tester) children(p *play) error {
	text, o, err := p.one(t.ctx, true, "bash", map[string]any{"command": "env; echo reached"})
	if err != nil || !strings.Contains(text, "reached") {
		return errors.Join(fmt.Errorf("env was not run: %s", text), err)
	}
	for line := range strings.Lines(text) {
		if name, _, _ := strings.Cut(line, "="); strings.HasPrefix(name, "ARTOO_") || name == keyVariable() ||
			name == "PLANTED_TOKEN" || name == "PLANTED_ADDRESS" {
			return fmt.Errorf("%s is passed on", name)
		}
	}
	return p.hidden(o)
}

func (t *tester) withheld(p *play) error {
	text, _, err := p.one(t.ctx, true, "bash",
		map[string]any{"command": "printenv PLANTED_TOKEN PLANTED_ADDRESS; printenv PLANTED_PASSED_TOKEN | tr a-z b-za; exit 3"})
	if err != nil {
		return err
	}
	for _, name := range []string{"PLANTED_TOKEN", "PLANTED_ADDRESS"} {
		if !strings.Contains(text, name) {
			return fmt.Errorf("it does not say that %s was withheld: %s", name, text)
		}
	}
	rotated := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return 'a' + (r-'a'+1)%26
		}
		return r
	}, p.passed)
	if !strings.Contains(text, rotated) {
		return fmt.Errorf("what ARTOO_PASS_ENV names does not arrive: %s", text)
	}
	return nil
}

// ownEnvironment looks where the kernel shows the environment that artoo was started
// with: there must be no values in it, nor in that of the sandbox's launcher, except for
// the variable that configures Go's runtime there.
func (t *tester) ownEnvironment(p *play) error {
	if runtime.GOOS != "linux" {
		return untested("only Linux shows it in a file")
	}
	text, _, err := p.one(t.ctx, true, "bash", map[string]any{
		"command": `test -r /proc/$PPID/environ || { echo closed; exit; }; ` +
			`tr '\0' '\n' </proc/$PPID/environ | grep -v ^GOMAXPROCS= | grep -c '=.'`})
	switch {
	case err != nil:
		return err
	case !strings.Contains(text, "closed") && !regexp.MustCompile(`(?m)^0$`).MatchString(text):
		return fmt.Errorf("values stand in /proc/PID/environ: %s", text)
	}
	return nil
}

// maskedOutput reads a file with keys in all ways, whole and in pieces.
func (t *tester) maskedOutput(p *play) error {
	o, err := p.turn(t.ctx, "go on", true,
		p.model.call("read", map[string]any{"path": "notes.txt"}),
		p.model.call("grep", map[string]any{"pattern": ".", "path": "notes.txt"}),
		p.model.call("bash", map[string]any{"command": "cat notes.txt; sleep 0; cat notes.txt >&2"}),
		p.model.call("bash", map[string]any{"command": "while read -r l; do printf '%s' \"$l\" | cut -c1-20 | tr -d '\\n'; " +
			"printf '%s\\n' \"$l\" | cut -c21-; done <notes.txt; exit 1"}),
		p.model.call("bash", map[string]any{"command": "cat notes.txt notes.txt; seq 20000; cat notes.txt"}))
	if err != nil {
		return err
	}
	for i, r := range o.results {
		if !strings.Contains(r.Text, markStart) {
			return fmt.Errorf("result %d has no mark: %.200s", i+1, r.Text)
		}
	}
	return p.hidden(o)
}

func (t *tester) maskedMessage(p *play) error {
	o, err := p.turn(t.ctx, "look at this:\n"+p.notes(), false)
	if err != nil {
		return err
	}
	if !strings.Contains(o.sent, markStart) {
		return errors.New("no mark was sent")
	}
	return p.hidden(o)
}

func (t *tester) plainText(p *play) error {
	text, o, err := p.one(t.ctx, false, "read", map[string]any{"path": "plain.txt"})
	if err != nil || !strings.Contains(text, p.plain) || !strings.Contains(o.sent, p.plain) {
		return errors.Join(fmt.Errorf("it became %s", text), err)
	}
	return nil
}

// salt makes marks in a session, and again in the same one when it is resumed.
func (t *tester) salt() error {
	var before []string
	session := ""
	for _, again := range []bool{false, true} {
		p, err := t.start(session)
		if err != nil {
			return err
		}
		text, o, err := p.one(t.ctx, false, "read", map[string]any{"path": "key.txt"})
		session = p.agent.SessionID()
		if err = errors.Join(err, p.end()); err != nil {
			return err
		}
		now := markPattern.FindAllString(text, -1)
		switch {
		case len(now) == 0:
			return fmt.Errorf("there is no mark: %s", text)
		case !again:
			before = now
		case now[0] != before[0]:
			return fmt.Errorf("the markStart was %s and is %s", before[0], now[0])
		}
		if err := p.hidden(o); err != nil {
			return err
		}
	}
	return t.saltFile(session)
}

func (t *tester) saltFile(session string) error {
	found, err := filepath.Glob(filepath.Join(t.planted.Home, ".local", "state", "artoo", "sessions", "*"+session+".salt"))
	if err != nil || len(found) != 1 {
		return errors.Join(fmt.Errorf("the salt files are %v", found), err)
	}
	info, err := os.Stat(found[0])
	if err != nil || info.Mode().Perm()&0o077 != 0 {
		return errors.Join(fmt.Errorf("others can read the salt: %v", info.Mode()), err)
	}
	salt, err := os.ReadFile(found[0])
	if err != nil {
		return err
	}
	data, err := os.ReadFile(strings.TrimSuffix(found[0], ".salt") + ".jsonl")
	if err != nil || strings.Contains(string(data), strings.TrimSpace(string(salt))) {
		return errors.Join(errors.New("the salt stands in the session, and so in its exports"), err)
	}
	return nil
}

// markIn is the markStart of the provider's key in key.txt.
func (t *tester) markIn(p *play) (string, error) {
	text, _, err := p.one(t.ctx, false, "read", map[string]any{"path": "key.txt"})
	if found := markPattern.FindString(text); err == nil && found != "" {
		return found, nil
	}
	return "", errors.Join(fmt.Errorf("there is no mark: %s", text), err)
}

func (t *tester) marksRefused(p *play) error {
	m, err := t.markIn(p)
	if err != nil {
		return err
	}
	o, err := p.turn(t.ctx, "go on", true,
		p.model.call("bash", map[string]any{"command": "echo " + m + " >>plain.txt"}),
		p.model.call("write", map[string]any{"path": "new.txt", "content": "key = " + m}),
		p.model.call("edit", map[string]any{"path": "plain.txt", "old_string": "class", "new_string": m}),
		p.model.call("edit", map[string]any{"path": "key.txt", "old_string": "first", "new_string": m + " first"}),
		p.model.call("edit", map[string]any{"path": "key.txt", "old_string": m, "new_string": "gone"}))
	if err != nil {
		return err
	}
	for i, r := range o.results {
		if r.Status == agent.CallOK || r.Text == "" {
			return fmt.Errorf("call %d is run: %s", i+1, r.Text)
		}
	}
	for name, want := range map[string]string{"plain.txt": p.plain + "\n", "new.txt": ""} {
		if data, _ := os.ReadFile(filepath.Join(p.Project, name)); string(data) != want {
			return fmt.Errorf("%s is %q", name, data)
		}
	}
	return nil
}

func (t *tester) marksInEdits(p *play) error {
	m, err := t.markIn(p)
	if err != nil {
		return err
	}
	if err := p.agent.SetMode("edits"); err != nil {
		return untested(err.Error())
	}
	edit := func(before, after string) (turnOutcome, error) {
		_, o, err := p.one(t.ctx, false, "edit", map[string]any{"path": "key.txt", "old_string": before, "new_string": after})
		return o, err
	}
	keyStays := func() error {
		data, err := os.ReadFile(filepath.Join(p.Project, "key.txt"))
		if err != nil || !strings.Contains(string(data), "key = "+p.own) || strings.Contains(string(data), markStart) {
			return errors.Join(errors.New("the key is not what it was"), err)
		}
		return nil
	}
	o, err := edit("key = "+m+"\nsecond = 2\nthird = 3\nfourth = 4", "key = "+m+"\nsecond = 2\nthird = 3\nfourth = 5")
	if err == nil && (o.results[0].Status != agent.CallOK || o.asked != nil) {
		err = fmt.Errorf("an edit below it: %s, asked %v", o.results[0].Text, o.asked)
	}
	if err := errors.Join(err, keyStays(), p.hidden(o)); err != nil {
		return err
	}
	o, err = edit("key = "+m, "other = "+m)
	if err == nil && len(o.asked) != 1 {
		err = errors.New("an edit of its line is not asked about")
	}
	return errors.Join(err, keyStays(), p.hidden(o))
}

// resumed goes on with a session that was written before there were masks.
func (t *tester) resumed() error {
	p, err := t.start("")
	if err != nil {
		return err
	}
	_, err = p.turn(t.ctx, "the key is PLACE", false)
	session := p.agent.SessionID()
	if err = errors.Join(err, p.end()); err != nil {
		return err
	}
	found, err := filepath.Glob(filepath.Join(p.Home, ".local", "state", "artoo", "sessions", "*"+session+".jsonl"))
	if err != nil || len(found) != 1 {
		return errors.Join(fmt.Errorf("the session's files are %v", found), err)
	}
	data, err := os.ReadFile(found[0])
	if err != nil {
		return err
	}
	old := strings.Replace(string(data), "PLACE", p.shapes["a GitHub token"], 1)
	if err := os.WriteFile(found[0], []byte(old), 0o600); err != nil {
		return err
	}
	defer os.WriteFile(found[0], data, 0o600) // the file left as it is: the tests after this look through it
	if p, err = t.start(session); err != nil {
		return err
	}
	o, err := p.turn(t.ctx, "go on", false)
	if err = errors.Join(err, p.end()); err != nil {
		return err
	}
	if found := p.leaked(o.sent + o.shown); found != nil || !strings.Contains(o.sent, markStart) {
		return fmt.Errorf("%v are sent", found)
	}
	return nil
}
