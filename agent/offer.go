package agent

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"artoo/tool"
	"artoo/tool/search"
)

// Tools are what the present model is offered.
func (a *Agent) Tools() []tool.Tool {
	a.takeFound()
	return a.offered()
}

// offered are the tools that the present model is offered. One that stands in
// another's place is for models that are trained on it, and where there is no other;
// one for files of a kind is offered where such files are known to be.
func (a *Agent) offered() []tool.Tool {
	has := func(name string) bool {
		return slices.ContainsFunc(a.opt.Tools, func(t tool.Tool) bool { return t.Name == name })
	}
	return slices.DeleteFunc(slices.Clone(a.opt.Tools), func(t tool.Tool) bool {
		if t.Instead != "" {
			return has(t.Instead) && !a.model.Info.Patches
		}
		return t.For != "" && !slices.Contains(a.kinds, t.For) || a.model.Info.Patches &&
			slices.ContainsFunc(a.opt.Tools, func(other tool.Tool) bool { return other.Instead == t.Name })
	})
}

// replaced reports whether the present model is offered another tool instead.
func (a *Agent) replaced(name string) bool {
	return slices.ContainsFunc(a.offered(), func(t tool.Tool) bool { return t.Instead == name })
}

// kindsTimeout is how long a session's first request may wait for the look at what
// files the project has.
const kindsTimeout = time.Second

// lookForKinds looks meanwhile for files that some tools are for: neither the first
// message nor the prompt waits for it.
func (a *Agent) lookForKinds() {
	a.kinds, a.looking = nil, nil
	var kinds []string
	for _, t := range a.opt.Tools {
		if t.For != "" {
			kinds = append(kinds, t.For)
		}
	}
	files := a.opt.Env.Files
	if kinds == nil || files == nil {
		return
	}
	found := make(chan []string, 1)
	a.looking = found
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), kindsTimeout)
		defer cancel()
		there, _ := guard(func() ([]string, error) { return search.Kinds(ctx, files, kinds), nil }) // after a crash none counts as there
		found <- there
	}()
}

// takeFound takes over what lookForKinds has found.
func (a *Agent) takeFound() {
	if a.looking == nil {
		return
	}
	a.kinds, a.looking = append(a.kinds, <-a.looking...), nil
	a.conv.SetOverhead(a.system, a.specs)
}

// offerFor offers the tools for files like these, which a call has read or written,
// from the next request on. They stay: each change of the tools costs the provider's
// cache.
func (t *turn) offerFor(paths []string) {
	for _, path := range paths {
		kind := strings.ToLower(filepath.Ext(path))
		at := slices.IndexFunc(t.opt.Tools, func(o tool.Tool) bool { return o.For != "" && o.For == kind })
		if at < 0 || slices.Contains(t.kinds, kind) {
			continue
		}
		t.kinds = append(t.kinds, kind)
		t.conv.SetOverhead(t.system, t.specs)
		t.notice(NoticeInfo, offeredNow(t.opt.Tools[at].Name))
	}
}

// offeredNow tells the user that a tool came in the middle of a session.
func offeredNow(name string) string {
	return name + " is offered from now on: the next request is read anew by the provider"
}
