//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/ui/prompt"
	"artoo/ui/screen"
)

// withEditor is a conversation whose user has the editor.
func withEditor(variables ...string) func(*Options) {
	return func(o *Options) { o.Environ = append(variables, "PATH="+os.Getenv("PATH")) }
}

// An unsaved or empty message, or one from an editor that fails, is not sent, and the
// text comes back; a saved one is a message, even if it looks like a command.
func TestOnlyWhatIsSavedIsSent(t *testing.T) {
	t.Parallel()
	writing := script(t, `printf '/quit\nis a command\n' >"$1"`)
	emptying := script(t, `: >"$1"`)
	blank := script(t, `printf ' \n\n' >"$1"`)
	failing := script(t, `echo changed >"$1"; exit 3`)
	for _, test := range []struct {
		name, editor, text string
		sent               []string
		says               string
	}{
		{"unsaved", "true", "some text", nil, "not saved, so nothing was sent"},
		{"failed", "false", "some text", nil, "nothing was sent: false: exit status 1"},
		{"failed after saving", failing, "some text", nil, "VISUAL or EDITOR names another"},
		{"not there", "/nowhere/ed", "some text", nil, "status 127"},
		{"emptied", emptying, "some text", nil, "the text is empty, so nothing was sent"},
		{"blank", blank, "some text", nil, "the text is empty, so nothing was sent"},
		{"saved as it was", "touch", "some text", []string{"some text"}, ""},
		{"touched without text", "touch", "", nil, "the text is empty, so nothing was sent"},
		{"written", writing, "some text", []string{"/quit\nis a command"}, "you: /quit"},
		{"with arguments", writing + " " + t.TempDir() + "/first", "", nil, "not saved, so"},
	} {
		t.Run(test.name, func(t *testing.T) {
			k := startPTY(t, &sender{}, withEditor("VISUAL="+test.editor, "EDITOR=false"))
			k.expect("you: ")
			k.send("/edit " + test.text)
			k.expect("/edit")
			k.settle()
			k.send("\r")
			if test.says != "" {
				k.expect(test.says)
			}
			if test.sent == nil {
				k.expect(pasteOn + "you: " + test.text)
			} else {
				k.await(k.answer, 0, "answer to "+test.sent[0])
				k.expect(pasteOn + "you: ")
			}
			if diff := cmp.Diff(test.sent, k.sender.messages()); diff != "" {
				t.Error(diff)
			}
			k.send("\x15\x04")
			k.end()
		})
	}
}

func TestTheLineIsEdited(t *testing.T) {
	t.Parallel()
	k := startPTY(t, &sender{}, withEditor("EDITOR="+script(t, `printf ' and more\n' >>"$1"`)))
	k.expect("you: ")
	if err := k.term.act(t.Context(), prompt.Line{Action: prompt.Compose, Text: "a line\nof two"}); err != nil {
		t.Fatal(err)
	}
	k.wasSent("a line\nof two\n and more")
	k.expect("you: a line\r\n     of two\r\n      and more")
}

// Without an editor that could run, the message comes back.
func TestWithoutAnEditorTheTextComesBack(t *testing.T) {
	t.Parallel()
	k := startPTY(t, &sender{}, func(o *Options) { o.Profile, o.Environ = screen.Plain, []string{"VISUAL=vim"} })
	k.expect("you: ")
	k.send("/edit some text\n")
	k.expect("set EDITOR")
	k.expect("not sent: some text")
	if shown, sent := say(t, withEditor("EDITOR=touch"), "/edit some text"); sent != nil ||
		!strings.Contains(shown, "no terminal to edit on") || !strings.Contains(shown, "not sent: some text") {
		t.Errorf("over pipes: sent %q, shown %q", sent, shown)
	}
}

func TestTheProgramsOfThePersonSeeNoKey(t *testing.T) {
	t.Parallel()
	const said = `"$OPENAI_API_KEY,$ARTOO_API_KEY,$WORK,$MINE"`
	k := startPTY(t, &sender{}, func(o *Options) {
		withEditor("EDITOR="+script(t, `echo editor `+said+` >"$1"`), "OPENAI_API_KEY=seen", "ARTOO_API_KEY=seen",
			"WORK=seen", "MINE=mine", "SHELL=/bin/sh")(o)
		o.KeyVariables, o.Pager = []string{"OPENAI_API_KEY", "WORK"}, script(t, `echo pager `+said+`; cat`)
	})
	k.expect("you: ")
	if err := k.term.act(t.Context(), prompt.Line{Action: prompt.Compose, Text: "x"}); err != nil {
		t.Fatal(err)
	}
	k.wasSent("editor ,,,mine")
	if err := k.term.children.page("text\n"); err != nil {
		t.Error(err)
	}
	k.expect("pager ,,,mine")
}
