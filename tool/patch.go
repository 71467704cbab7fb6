package tool

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
)

type patchInput struct {
	Input string `json:"input" jsonschema:"the patch, from *** Begin Patch to *** End Patch"`
}

// ApplyPatch is the tool that changes files by a patch in the format that models of
// OpenAI's are trained on. It is offered instead of edit.
func ApplyPatch() Tool {
	return New(Def{
		Name: "apply_patch",
		Kind: KindWrite, Marks: true, Instead: "edit",
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
	op     byte     // A, M or D
	was    textFile // what it is before and after
	now    textFile
	chunks []patchChunk // that were applied
	from   *target      // where an M moves it from, nil where it stays
}

func planPatch(ctx context.Context, env *Env, in patchInput) (Access, error) {
	access := Access{Kind: KindWrite, Verb: "patch", Object: "files"}
	files, err := parsePatch(in.Input)
	if err != nil {
		return access, err
	}
	var objects []string
	for _, f := range files {
		var object string
		for i, path := range f.paths() {
			t, err := env.Files.resolve(path, true)
			if err != nil {
				return access, err
			}
			access.Paths = append(access.Paths, t.Abs)
			if t.refused() != nil && access.Why == "" {
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
	steps, err := env.patchSteps(ctx, files)
	if err != nil {
		return access, err
	}
	for _, s := range steps {
		access.Diff += s.diff()
		access.Added, access.Removed = access.Added+s.added, access.Removed+s.removed
		access.OtherNames = access.OtherNames || s.op == 'M' && s.source().hasOtherNames()
		if access.MovesSecret == "" {
			access.MovesSecret = s.moves
		}
	}
	env.Files.plan(planKey(in), planned{after: digest(steps)})
	return access, nil
}

// source is the place of what is there before.
func (s *fileStep) source() target {
	if s.from != nil {
		return *s.from
	}
	return s.target
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

// paths are those that a section of a patch writes.
func (f filePatch) paths() []string {
	if f.moveTo != "" {
		return []string{f.path, f.moveTo}
	}
	return []string{f.path}
}

// PatchPaths are the paths that a patch names; none for what is no patch.
func PatchPaths(patch string) (paths []string) {
	files, err := parsePatch(patch)
	if err != nil {
		return nil
	}
	for _, f := range files {
		paths = append(paths, f.paths()...)
	}
	return paths
}

func runPatch(ctx context.Context, env *Env, in patchInput, _ io.Writer) (Result, error) {
	files, err := parsePatch(in.Input)
	if err != nil {
		return Result{}, err
	}
	steps, err := env.patchSteps(ctx, files)
	if err != nil {
		return Result{}, err
	}
	if shown, ok := env.Files.takePlan(planKey(in)); !ok || shown.after != digest(steps) {
		return Result{}, errors.New("a file has changed since this call was shown and allowed, and nothing was done; read " +
			"it again and repeat the call")
	}
	if err := env.Files.commitSteps(steps); err != nil {
		return Result{}, err
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
	return Result{Text: b.String(), Summary: fmt.Sprintf("%s, +%d -%d", plural(len(steps), "file"), added, removed)}, nil
}
