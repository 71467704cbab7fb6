package ui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"

	"artoo/agent"
	"artoo/ui/prompt"
	"artoo/ui/sanitize"
)

const (
	// maxOutputs and maxOutputBytes bound what is kept of the last calls.
	maxOutputs     = 50
	maxOutputBytes = 8 << 20
	// maxPaged is how much of a whole output is paged, in bytes.
	maxPaged = 50 << 20
)

// output is what a call came to.
type output struct {
	verb, object string
	summary      string
	text         string // what the model was told; the whole is in file, if that is set
	file         string
}

// outputs are the last calls, the oldest first. Safe for concurrent use.
type outputs struct {
	mu   sync.Mutex
	list []output
	size int // bytes of text
}

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

// all are the calls, the last one first.
func (o *outputs) all() []output {
	o.mu.Lock()
	defer o.mu.Unlock()
	list := make([]output, 0, len(o.list))
	for i := len(o.list) - 1; i >= 0; i-- {
		list = append(list, o.list[i])
	}
	return list
}

// OnToolResult implements agent.Callbacks: the screen shows a line, and /out the
// rest.
func (t *Terminal) OnToolResult(call agent.Call, r agent.CallResult) {
	verb := cmp.Or(call.Access.Verb, call.Name)
	t.outputs.add(output{verb: verb, object: call.Access.Object, summary: r.Summary, text: r.Text, file: r.File})
	t.Screen.OnToolResult(call, r)
}

// runOut pages the whole output of a call.
func runOut(_ context.Context, t *Terminal, arg string) error {
	list := t.outputs.all()
	if len(list) == 0 {
		return errors.New("no tool was called yet")
	}
	if arg == "list" {
		var rows [][]string
		for i, o := range list {
			rows = append(rows, []string{strconv.Itoa(i + 1), oneLine(o.verb), oneLine(firstLine(o.object)),
				oneLine(o.summary)})
		}
		t.columns(rows)
		return nil
	}
	n := 1
	if arg != "" {
		var err error
		if n, err = strconv.Atoi(arg); err != nil || n < 1 {
			return fmt.Errorf("%q is neither list nor a number, counted back from the last call", arg)
		}
	}
	if n > len(list) {
		return fmt.Errorf("only the last %d are kept; see /out list", len(list))
	}
	o := list[n-1]
	text, why := o.whole()
	if why != "" {
		t.Note(why)
	}
	head := oneLine(o.verb + " " + firstLine(o.object))
	return t.page(head + "\n\n" + sanitize.Text(strings.TrimRight(text, "\n"), sanitize.Code) + "\n")
}

// whole is the call's whole output; if it cannot be had it says why, and gives
// what the model was told.
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
		all = append(all, prompt.Candidate{Text: strconv.Itoa(i + 1), Help: o.verb + " " + firstLine(o.object)})
	}
	return all
}
