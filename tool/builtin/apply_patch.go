package builtin

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"

	"artoo/tool"
	"artoo/tool/edit"
	"artoo/tool/files"
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

// fileStep is what a patch does to one file.
type fileStep struct {
	change
	op     byte // A, M or D
	was    files.Text
	now    files.Text
	chunks []edit.Chunk
	from   *files.Place // where an M moves it from, nil where it stays
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
	for _, s := range steps {
		access.Diff += s.diff()
		access.Added, access.Removed = access.Added+s.added, access.Removed+s.removed
		access.OtherNames = access.OtherNames || s.op == 'M' && s.source().HasOtherNames()
		if access.MovesSecret == "" {
			access.MovesSecret = s.moves
		}
	}
	env.Files.Seen.Plan(planKey(in), files.Planned{After: digest(steps)})
	return access, nil
}

// source is the place of what is there before.
func (s *fileStep) source() files.Place {
	if s.from != nil {
		return *s.from
	}
	return s.Place
}

// planKey tells patches from paths among what is planned.
func planKey(in patchInput) string { return "\x00" + in.Input }

// digest is of what the steps find and what they write.
func digest(steps []fileStep) [sha256.Size]byte {
	h := sha256.New()
	for _, s := range steps {
		fmt.Fprintf(h, "%c %q %x %v %d %x\n", s.op, s.Abs, s.state.Hash, s.state.Missing, s.state.Size, sha256.Sum256(s.new))
		if s.from != nil {
			fmt.Fprintf(h, "%q\n", s.from.Abs)
		}
	}
	return [sha256.Size]byte(h.Sum(nil))
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
	if shown, ok := env.Files.Seen.TakePlan(planKey(in)); !ok || shown.After != digest(steps) {
		return tool.Result{}, errors.New("a file has changed since this call was shown and allowed, and nothing was done; read " +
			"it again and repeat the call")
	}
	if err := commitSteps(env.Files, steps); err != nil {
		return tool.Result{}, err
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
