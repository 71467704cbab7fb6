package ui

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"artoo/agent"
	"artoo/provider"
	"artoo/ui/prompt"
	"artoo/ui/screen"
)

// ForProgram carries out one line that begins with a slash: a command that needs no terminal, or a
// skill or command of the user's. output is its text. Its turn, if it has one, is reported to
// cb, gets the messages of steering, and ends with response and the error. A line that cannot be
// carried out is an error without a response. The command itself asks no questions. opt needs
// Agent and Program only.
func ForProgram(ctx context.Context, opt Options, line string, cb agent.Callbacks, steering func() []agent.Message) (
	output string, response *agent.Response, err error,
) {
	var shown bytes.Buffer
	opt.Screen = screen.New(screen.Options{Out: &shown, Err: &shown, Profile: screen.Plain, UTF8: true})
	opt.Profile, opt.Piped, opt.In = screen.Plain, true, strings.NewReader("")
	t, err := New(opt)
	if err != nil {
		return "", nil, err
	}
	t.program = &program{Callbacks: cb, steering: steering}
	if in, ok := t.invocation(line); ok {
		err = t.invoke(ctx, in, prompt.Line{Text: line})
	} else {
		err = t.runCommand(ctx, line)
	}
	t.screen.Finish()
	return shown.String(), t.program.response, errors.Join(err, t.program.err)
}

// Attach reads the files that a program names for a message, under the rules of the file tools. The
// error names the first that cannot come along.
func Attach(ctx context.Context, a *agent.Agent, paths []string) ([]provider.Part, error) {
	e := expander{access: accessOf(a, false), ctx: ctx, seen: map[string]bool{}}
	for _, path := range paths {
		before := len(e.attached)
		if !e.path(path, path, true) {
			return nil, fmt.Errorf("%s: no such file", path)
		}
		if len(e.attached) == before && len(e.out.Notes) > 0 {
			return nil, errors.New(e.out.Notes[len(e.out.Notes)-1])
		}
	}
	return e.out.Parts, nil
}

// Command is a command of artoo's own as an editor lists it.
type Command struct{ Name, Args, Help string }

// EditorCommands are the commands that an editor can send: they need no terminal, and stay in the session.
func EditorCommands() (list []Command) {
	for _, c := range commands() {
		if c.program && !c.moves {
			list = append(list, Command{c.name, c.args, c.help})
		}
	}
	return list
}

// ForEditor reports whether a name, or another name of a command, is that of one of EditorCommands.
func ForEditor(name string) bool {
	c, ok := findCommand(name)
	return ok && c.program && !c.moves
}
