package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"artoo/tool"
	"artoo/tool/edit"
	"artoo/tool/text"
)

type patchInput struct {
	Input string `json:"input" jsonschema:"the patch, from *** Begin Patch to *** End Patch"`
}

// ApplyPatch is the tool that changes files by a patch in the format that models of
// OpenAI's are trained on. It is offered instead of edit.
func ApplyPatch() tool.Tool {
	return tool.New(tool.Def{
		Name: "apply_patch",
		Kind: tool.KindWrite, Marks: true, Instead: "edit", FromText: patchFromText,
		Description: "Add, change, move or delete files by a patch:\n" +
			"*** Begin Patch\n*** Add File: PATH\n+LINE\n*** Update File: PATH\n*** Move to: PATH\n@@ LINE ABOVE\n" +
			" LINE\n-LINE\n+LINE\n*** Delete File: PATH\n*** End Patch\n" +
			"Three lines of context around each change; @@ names a class or function above where these are not unique. " +
			"All of it is applied or none: do not read the files again to check. Line ends and encoding are kept.",
	}, planPatch, runPatch)
}

func planPatch(ctx context.Context, env *tool.Env, in patchInput) (tool.Access, error) {
	access := tool.Access{Kind: tool.KindWrite, Verb: "patch", Object: "files"}
	sections, err := edit.ParsePatch(in.Input)
	if err != nil {
		return access, err
	}
	var objects []string
	for _, f := range sections {
		var object string
		for i, path := range f.Paths() {
			t, err := env.Files.Resolve(path, true)
			if err != nil {
				return access, err
			}
			access.Paths = append(access.Paths, t.Abs)
			if t.Refused() != nil && access.Why == "" {
				access.Outside, access.Denied, access.Why = t.Outside, t.Denied, t.Why
			}
			if object = t.Display; i > 0 {
				object = objects[len(objects)-1] + " -> " + object
				objects = objects[:len(objects)-1]
			}
			objects = append(objects, object)
		}
	}
	access.Object = strings.Join(objects, ", ")
	if access.Outside || access.Denied {
		return access, nil
	}
	steps, err := patchSteps(ctx, env, sections)
	if err != nil {
		return access, err
	}
	planned(&access, steps...)
	return access, nil
}

func runPatch(ctx context.Context, env *tool.Env, in patchInput, _ io.Writer) (tool.Result, error) {
	files, err := edit.ParsePatch(in.Input)
	if err != nil {
		return tool.Result{}, err
	}
	steps, err := patchSteps(ctx, env, files)
	if err != nil {
		return tool.Result{}, err
	}
	if err := commit(env, steps...); err != nil {
		return tool.Result{}, fmt.Errorf("%w\n(nothing of the patch was applied)", err)
	}
	var b strings.Builder
	b.WriteString("Success. Updated the following files:\n")
	added, removed := 0, 0
	for _, s := range steps {
		fmt.Fprintf(&b, "%c %s", s.op, s.Display)
		if s.from != nil {
			fmt.Fprintf(&b, " (was %s)", s.from.Display)
		}
		b.WriteString("\n" + s.note)
		added, removed = added+s.added, removed+s.removed
	}
	return tool.Result{Text: b.String(), Summary: fmt.Sprintf("%s, +%d -%d", text.Count(len(steps), "file"), added, removed)}, nil
}

// asPatch is the call of apply_patch that a call of bash or edit means, nil for any other: models
// that are trained on patches write them into the shell, or into whatever edits.
func asPatch(tools []tool.Tool, found *tool.Tool, input json.RawMessage) (*tool.Tool, json.RawMessage) {
	var in struct{ Command, Cwd, Input, Patch, Diff string }
	if found == nil || found.Name != "bash" && found.Name != "edit" || !bytes.Contains(input, []byte(edit.PatchBegin)) ||
		json.Unmarshal(found.Repair(input), &in) != nil {
		return nil, nil
	}
	apply := tool.Find(tools, "apply_patch")
	if apply == nil || apply == found {
		return nil, nil
	}
	if found.Name == "bash" {
		patch, dir, ok := edit.PatchOf(in.Command)
		if !ok {
			return nil, nil
		}
		if !path.IsAbs(dir) {
			dir = path.Join(in.Cwd, dir)
		}
		return apply, patchCall(edit.PathsBelow(patch, dir))
	}
	for _, text := range []string{in.Input, in.Patch, in.Diff} {
		if strings.HasPrefix(edit.BarePatch(text), edit.PatchBegin) {
			return apply, patchCall(text)
		}
	}
	return nil, nil
}

func patchCall(patch string) json.RawMessage {
	return slices.Concat([]byte(`{"input":`), tool.Quoted(patch), []byte("}"))
}

// FindCall is tool.Find, but takes a patch in another tool's input for a call of apply_patch.
func FindCall(tools []tool.Tool, name string, input json.RawMessage) (*tool.Tool, json.RawMessage) {
	found := tool.Find(tools, name)
	if apply, patch := asPatch(tools, found, input); apply != nil {
		return apply, patch
	}
	return found, input
}

// patchFromText is the call that a patch written as bare text means.
func patchFromText(text string) (input json.RawMessage, ok bool) {
	if !strings.HasPrefix(edit.BarePatch(text), edit.PatchBegin) {
		return nil, false
	}
	return patchCall(text), true
}
