package permission

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"artoo/tool"
	"artoo/tool/sandbox"
)

// Judgement is a policy's word on what a line did on a layer.
type Judgement struct {
	// Effect is Allow where the line may count as it is: it changed nothing, or what
	// was approved for it before. Deny says that its changes can never be applied.
	Effect  Effect
	Reason  string
	Effects Effects
}

// Effects are what a line did on a layer, what matters most first. Paths are
// relative to the project's root where they are below it.
type Effects struct {
	OthersRun   []string // files that others run, with who
	Executables []string // files that can be executed and could not before
	Modes       []string // other changes of permissions
	Links       []string // symbolic links, with where they lead
	Deleted     []string
	Never       []string // devices, FIFOs, sockets and the like, which are never applied
	// Created and Modified are files with their content; Directories those that are new.
	Created, Modified []string
	Directories       []string
	InGit             int      // how many of all are git's own
	Git               []string // what its data comes to, as git sees it; see tool.GitChanges
	// There says that they are in the project already, where no layer was: a no
	// removes them.
	There bool
	Apply []sandbox.Change // what a yes applies
}

// Judge says what becomes of what a line changed on a layer.
func (p *Policy) Judge(access tool.Access, changes []sandbox.Change) Judgement {
	p = p.deciding()
	changes = slices.DeleteFunc(slices.Clone(changes), p.isCache)
	j := Judgement{Effect: Allow}
	for _, c := range changes {
		j.Effects.add(p, c)
	}
	if len(changes) == 0 {
		j.Reason = "it changed nothing"
		return j
	}
	if why := p.neverApplied(changes, j.Effects); why != "" {
		j.Effect, j.Reason = Deny, why
		return j
	}
	if p.Mode == ModePlan {
		j.Effect, j.Reason = Deny, "plan mode changes nothing"
		return j
	}
	switch {
	case len(j.Effects.OthersRun) > 0:
		j.Effect, j.Reason = Ask, alwaysAsked("it writes "+j.Effects.OthersRun[0])
	case p.keptFor(access, j.Effects.Apply):
		j.Reason = "the same was approved for this line"
	case p.passes(access):
		j.Reason = "the line is allowed whatever it changes"
	default:
		j.Effect = Ask
	}
	return j
}

// passes reports whether a line that ran on a layer was allowed by rules, or by the
// mode auto, which leaves to Judge only what others run.
func (p *Policy) passes(access tool.Access) bool {
	commands, odd := p.takeApart(access.Command, access.Dir)
	return p.Mode == ModeAuto || p.decideLine("bash", access, commands, odd).Effect == Allow
}

// neverApplied says why none of the changes can be applied.
func (p *Policy) neverApplied(changes []sandbox.Change, e Effects) string {
	for _, c := range changes {
		if p.DeniedName != nil && p.DeniedName(c.Path) {
			return p.below(c.Path) + " is a secret by its name, and what a command did beside it is not applied"
		}
		if c.Before.Moved {
			return p.below(c.Path) + " changed while the command ran"
		}
	}
	if e.InGit > 0 && p.GitSecrets != nil {
		tracked, err := p.GitSecrets(p.Root)
		switch {
		case err != nil:
			return "it changed .git, and whether git tracks a secret cannot be told: " + err.Error()
		case len(tracked) > 0:
			return "it changed .git, and git tracks " + p.below(tracked[0]) + ", which is a secret by its name"
		}
	}
	if len(e.Apply) == 0 {
		return "all that it made is never applied (" + strings.Join(e.Never, ", ") + ")"
	}
	return ""
}

// add sorts one change.
func (e *Effects) add(p *Policy, c sandbox.Change) {
	path := p.below(c.Path)
	inGit := slices.Contains(partsOf(path), ".git")
	if inGit {
		e.InGit++
	}
	if c.Special {
		e.Never = append(e.Never, path)
		return
	}
	e.Apply = append(e.Apply, c)
	if why := p.runByOthers(c.Path); why != "" && !tool.GitData(path) {
		by, name := OthersRun(path)
		if by == "" {
			by, name = "git", path
		}
		e.OthersRun = append(e.OthersRun, fmt.Sprintf("%s (%s, which %s runs or obeys)", path, name, by))
	}
	if tool.GitData(path) {
		return // told as git sees it
	}
	now, before := c.Mode.Perm(), c.Before.Mode.Perm()
	regular := c.Mode.IsRegular() && c.Kind != sandbox.Deleted
	switch {
	case regular && now&0o111 != 0 && (before&0o111 == 0 || !c.Before.Mode.IsRegular()):
		e.Executables = append(e.Executables, path)
	case c.Kind != sandbox.Created && c.Kind != sandbox.Deleted && c.Before.Mode != 0 && now != before:
		e.Modes = append(e.Modes, fmt.Sprintf("%s %04o → %04o", path, before, now))
	}
	switch {
	case c.Kind == sandbox.Deleted:
		e.Deleted = append(e.Deleted, path+slashOf(c.Mode))
	case c.Mode&fs.ModeSymlink != 0:
		e.Links = append(e.Links, path+" → "+c.Target)
	case c.Mode.IsDir():
		if c.Kind != sandbox.Mode {
			e.Directories = append(e.Directories, path+"/")
		}
	case c.Kind == sandbox.Created:
		e.Created = append(e.Created, path)
	case c.Kind != sandbox.Mode:
		e.Modified = append(e.Modified, path)
	}
}

// MadeForOthers are the effects of a command in the sandbox that made these files,
// absolute, which others run.
func (p *Policy) MadeForOthers(paths []string) Effects {
	e := Effects{There: true}
	for _, path := range paths {
		name := p.below(path)
		by, listed := OthersRun(name)
		why := fmt.Sprintf("%s, which %s runs or obeys", listed, by)
		if by == "" {
			why = "git runs or obeys it"
		}
		e.OthersRun = append(e.OthersRun, fmt.Sprintf("%s (%s)", name, why))
		e.Created = append(e.Created, name)
	}
	return e
}

func slashOf(mode fs.FileMode) string {
	if mode.IsDir() {
		return "/"
	}
	return ""
}

// Caches are directories and files that tools keep beside the sources they look
// at. What a line made in them is dropped where git ignores it, so that a look
// stays a look.
const Caches = `__pycache__ .pytest_cache .mypy_cache .ruff_cache .eslintcache .tsbuildinfo .stylelintcache .cache .parcel-cache
	.phpunit.cache .rubocop_cache .gopls`

// isCache reports whether a change is a new file of a tool's cache, which git
// ignores.
func (p *Policy) isCache(c sandbox.Change) bool {
	inCache := slices.ContainsFunc(partsOf(p.below(c.Path)), func(part string) bool { return listed(Caches, part) })
	return inCache && c.Kind == sandbox.Created && !c.Special && c.Mode&fs.ModeSymlink == 0 &&
		p.GitIgnores != nil && p.GitIgnores(c.Path)
}

// KeepForLine approves what a line changed for the rest of the session: the same
// line passes as long as it does nothing else.
func (p *Policy) KeepForLine(access tool.Access, changes []sandbox.Change) {
	if p.kept == nil {
		p.kept = map[string][]string{}
	}
	p.kept[layerKey(access)] = append(p.kept[layerKey(access)], each(changes, changeKey)...)
}

func (p *Policy) keptFor(access tool.Access, changes []sandbox.Change) bool {
	kept := p.kept[layerKey(access)]
	return !slices.ContainsFunc(changes, func(c sandbox.Change) bool { return !slices.Contains(kept, changeKey(c)) })
}

// changeKey is what stays the same of a change whatever the content: the path, and
// for all but the content of a file what it is.
func changeKey(c sandbox.Change) string {
	kind := string(c.Kind)
	if c.Kind == sandbox.Created || c.Kind == sandbox.Modified {
		kind = "content"
	}
	return fmt.Sprintf("%s\x00%s\x00%v\x00%s", filepath.Clean(c.Path), kind, c.Mode, c.Target)
}
