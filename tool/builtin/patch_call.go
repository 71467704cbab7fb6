package builtin

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"artoo/tool"
	"artoo/tool/edit"
)

// asPatch is the call of apply_patch that a call of another tool means: models that
// are trained on patches write them into the shell, or into whatever edits. It is nil
// for all else, and where there is no apply_patch.
func asPatch(tools []tool.Tool, found *tool.Tool, input json.RawMessage) (*tool.Tool, json.RawMessage) {
	var in struct{ Command, Cwd, Input, Patch, Diff string }
	if found == nil || found.Name != "bash" && found.Name != "edit" || json.Unmarshal(found.Repair(input), &in) != nil {
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

// FindCall is Find for a call with its input: a patch that was written into another tool
// is a call of apply_patch.
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
