package ui

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"artoo/agent"
	"artoo/tool/environ"
	sizes "artoo/tool/text"
	"artoo/ui/prompt"
	"artoo/ui/sanitize"
	"artoo/ui/screen"
)

const (
	// maxOutputs and maxOutputBytes bound the kept output of the last calls.
	maxOutputs     = 50
	maxOutputBytes = 8 << 20
	// maxPaged is how much of a whole output is paged, in bytes.
	maxPaged = 50 << 20
)

func (o *outputs) add(out output) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.list = append(o.list, out)
	o.size += len(out.text)
	for len(o.list) > maxOutputs || o.size > maxOutputBytes && len(o.list) > 1 {
		o.size -= len(o.list[0].text)
		o.list[0] = output{} // the array is kept, its texts need not be
		o.list = o.list[1:]
	}
}

func (o *outputs) clear() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.list, o.size = nil, 0
}

func (o *outputs) all() []output {
	o.mu.Lock()
	defer o.mu.Unlock()
	list := slices.Clone(o.list)
	slices.Reverse(list)
	return list
}

// OnToolResult implements agent.Callbacks: the screen shows a line, and /out the
// rest.
func (c callbacks) OnToolResult(call agent.Call, r agent.CallResult) {
	verb := cmp.Or(call.Access.Verb, call.Name)
	c.t.outputs.add(output{verb: verb, object: call.Access.Object, summary: r.Summary, text: r.Text, file: r.File})
	c.Screen.OnToolResult(call, r)
}

func runOut(_ context.Context, t *Terminal, arg string) error {
	list := t.outputs.all()
	if len(list) == 0 {
		return errors.New("no tool calls yet")
	}
	if arg == "list" {
		var rows [][]string
		for i, o := range list {
			rows = append(rows, []string{strconv.Itoa(i + 1), oneLine(o.verb), oneLine(sizes.Head(o.object)),
				oneLine(o.summary)})
		}
		t.columns(rows)
		return nil
	}
	n, err := strconv.Atoi(cmp.Or(arg, "1"))
	if err != nil || n < 1 {
		return fmt.Errorf("unknown word %q: use list, or a number (1 is the last call)", arg)
	}
	if n > len(list) {
		return fmt.Errorf("only the last %d are kept; see /out list", len(list))
	}
	o := list[n-1]
	text, why := o.whole()
	if why != "" {
		t.screen.Note(why)
	}
	head := oneLine(o.verb + " " + sizes.Head(o.object))
	return t.children.page(head + "\n\n" + sanitize.Text(strings.TrimRight(text, "\n"), sanitize.Code) + "\n")
}

// whole is the call's whole output, or the model's part of it and why.
func (o output) whole() (text, why string) {
	if o.file == "" {
		return o.text, ""
	}
	f, err := os.Open(o.file)
	if err != nil {
		return o.text, "the whole output cannot be read: " + oneLine(err.Error())
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxPaged))
	if err != nil {
		return o.text, "the whole output cannot be read: " + oneLine(err.Error())
	}
	return string(data), ""
}

func completeOutputs(t *Terminal, _ string) []prompt.Candidate {
	all := []prompt.Candidate{{Text: "list", Help: "the last calls"}}
	for i, o := range t.outputs.all() {
		all = append(all, prompt.Candidate{Text: strconv.Itoa(i + 1), Help: o.verb + " " + sizes.Head(o.object)})
	}
	return all
}

// copyWait is how long a clipboard tool may take.
const copyWait = 5 * time.Second

// clipboards are the programs that fill the clipboard, and the variable that each needs.
var clipboards = []struct{ needs, command string }{
	{"", "pbcopy"}, {"WAYLAND_DISPLAY", "wl-copy"}, {"DISPLAY", "xclip -selection clipboard"},
	{"DISPLAY", "xsel --clipboard --input"}, {"", "clip.exe"},
}

// runCopy copies an answer: a number counted back from the last, and osc52 for the terminal's
// own clipboard.
func runCopy(ctx context.Context, t *Terminal, arg string) error {
	n, terminal := 1, false
	for word := range strings.FieldsSeq(arg) {
		switch number, err := strconv.Atoi(word); {
		case word == "osc52":
			terminal = true
		case err == nil && number > 0:
			n = number
		default:
			return fmt.Errorf("unknown word %q: use osc52, or a number (1 is the last answer)", word)
		}
	}
	text := t.opt.Agent.Answer(n)
	switch {
	case text == "" && n == 1:
		return errors.New("no answer yet")
	case text == "":
		return fmt.Errorf("there is no answer %d turns back", n)
	case terminal:
		return t.copyByTerminal(text)
	}
	argv, err := t.clipboard()
	if err != nil {
		return err
	}
	if err := runClipboard(ctx, argv, t.children.programs(), text); err != nil {
		return fmt.Errorf("%s: %w; /copy osc52 asks the terminal to do it", filepath.Base(argv[0]), err)
	}
	t.screen.Note(fmt.Sprintf("copied %s with %s", sizes.Bytes(int64(len(text))), filepath.Base(argv[0])))
	return nil
}

func (t *Terminal) copyByTerminal(text string) error {
	if t.opt.Profile == screen.Plain || !t.children.hasTerminal() {
		return errors.New("no terminal here to ask")
	}
	if !t.screen.Clipboard(text) {
		return fmt.Errorf("%s is too much for a terminal clipboard (limit %s)", sizes.Bytes(int64(len(text))),
			sizes.Bytes(screen.MaxClipboard))
	}
	t.screen.Note(fmt.Sprintf("handed %s to the terminal, which does not confirm it", sizes.Bytes(int64(len(text)))))
	return nil
}

// clipboard finds the tool for this desktop.
func (t *Terminal) clipboard() ([]string, error) {
	env := t.children.variable
	if env("SSH_TTY") != "" || env("SSH_CONNECTION") != "" {
		return nil, errors.New("over ssh the clipboard is on the other machine; /copy osc52 asks the terminal to fill it")
	}
	for _, c := range clipboards {
		if c.needs != "" && env(c.needs) == "" {
			continue
		}
		argv := strings.Fields(c.command)
		if path := findProgram(argv[0], env("PATH")); path != "" {
			argv[0] = path
			return argv, nil
		}
	}
	return nil, errors.New("no clipboard tool here (pbcopy, wl-copy, xclip, xsel, clip.exe); " +
		"/copy osc52 asks the terminal to do it")
}

func findProgram(name, path string) string {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		full := filepath.Join(dir, name)
		info, err := os.Stat(full)
		if err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return full
		}
	}
	return ""
}

// runClipboard hands the text to a tool, which may stay in the background and is given nothing
// that would be waited for.
func runClipboard(ctx context.Context, argv []string, vars environ.Vars, text string) error {
	ctx, cancel := context.WithTimeout(ctx, copyWait)
	defer cancel()
	command := vars.Command(ctx, argv[0], argv[1:]...)
	data := []byte(text)
	if strings.HasSuffix(argv[0], ".exe") { // takes UTF-8 for the system's old code page
		data = utf16Bytes(text)
	}
	command.Stdin = bytes.NewReader(data)
	command.WaitDelay = shellPipeWait // one that stays may hold its end of the pipe and never read it
	ownSession(command)
	if err := command.Run(); !errors.Is(err, exec.ErrWaitDelay) {
		return err
	}
	return nil
}

func utf16Bytes(text string) []byte {
	data := []byte{0xff, 0xfe}
	for _, unit := range utf16.Encode([]rune(text)) {
		data = binary.LittleEndian.AppendUint16(data, unit)
	}
	return data
}
