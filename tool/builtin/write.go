package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"strings"
	"unicode"

	"artoo/tool"
	"artoo/tool/diff"
	"artoo/tool/files"
)

type writeInput struct {
	Path    string `json:"path"`
	Content string `json:"content" jsonschema:"the whole content"`
}

// Write is the tool that creates a file or replaces all of it.
func Write() tool.Tool {
	return tool.New(tool.Def{
		Name: "write",
		Kind: tool.KindWrite,
		Fix:  fixWrite,
		Description: "Create a file, or replace all of an existing one, which must have been read before; its line ends and encoding are kept. " +
			"Missing directories are made. Use edit to change a part of a file.",
	}, planWrite, runWrite)
}

func planWrite(_ context.Context, env *tool.Env, in writeInput) (tool.Access, error) {
	return planChange(env.Files, "write", in.Path, func(t files.Place) (change, error) { return writeChange(env.Files, t, in) })
}

func runWrite(_ context.Context, env *tool.Env, in writeInput, _ io.Writer) (tool.Result, error) {
	c, err := commitChange(env, in.Path, func(t files.Place) (change, error) { return writeChange(env.Files, t, in) })
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Result{Text: fmt.Sprintf("wrote %s (%s)", c.Display, c.counts()), Summary: c.counts()}, nil
}

func writeChange(f *files.Files, t files.Place, in writeInput) (change, error) {
	before, old, state, err := t.LoadText()
	if err != nil {
		return change{}, err
	}
	if state.Missing {
		if strings.ContainsFunc(t.Display, unicode.IsControl) {
			return change{},
				fmt.Errorf("path %q: the name of a new file holds no line breaks or other control characters", in.Path)
		}
		return newChange(t, state, nil, before, files.Text{Body: in.Content})
	}
	known, seen := f.Seen.Of(t.Abs)
	if !seen && len(old) > 0 {
		return change{},
			t.Errorf(nil, "exists and was not read yet; read it before replacing it, or change a part with edit")
	}
	if err := stale(f, t, state); err != nil {
		return change{}, err
	}
	if unseen := known.Unseen(); unseen != "" && len(old) > 0 {
		return change{}, t.Errorf(nil, "%s", unseen)
	}
	content := before.Adopt(in.Content)
	if before.Charset != files.Plain {
		content = strings.TrimPrefix(content, "\ufeff") // the mark is kept anyway
	}
	if err := before.Takes(content); err != nil {
		return change{}, t.Errorf(err, "")
	}
	return newChange(t, state, old, before, before.Apply(diff.Lines(before.Body, content)))
}

// fixWrite takes the value itself for the content of a JSON file.
func fixWrite(fields map[string]json.RawMessage) bool {
	var file string
	content := bytes.TrimSpace(fields["content"])
	if json.Unmarshal(fields["path"], &file) != nil || !strings.EqualFold(path.Ext(file), ".json") ||
		len(content) == 0 || content[0] != '{' && content[0] != '[' {
		return false
	}
	var text bytes.Buffer
	if json.Indent(&text, content, "", "  ") != nil {
		return false
	}
	quoted, err := json.Marshal(text.String() + "\n")
	if err != nil {
		return false
	}
	fields["content"] = quoted
	return true
}
