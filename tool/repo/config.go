package repo

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"
)

// settings reads a file of git's configuration in the view, without included files. ok says that git could.
func (v *View) settings(ctx context.Context, name string) (list map[string][]string, ok bool) {
	list = map[string][]string{}
	return list, v.ask(ctx, v.git, nil, 0, func(piece string) {
		key, value, _ := strings.Cut(piece, "\n")
		list[key] = append(list[key], value)
	}, "config", "--file", filepath.Join(v.dir, name), "--no-includes", "--list", "-z")
}

// setting is the first value of a key of the configuration.
func (v *View) setting(key string) string { return cmp.Or(v.config[key]...) }

// setting is a key of the configuration that changes.
type setting struct {
	key    string
	was    bool
	values []string
}

// judgeConfig sorts the settings that changed.
func (j *judge) judgeConfig(ctx context.Context) {
	if j.v.sorted[config] == nil || j.v.done {
		return
	}
	j.v.copy("config.after", j.v.path("config"), true)
	after, ok := j.v.settings(ctx, "config.after")
	if !ok {
		j.e.Guarded = append(j.e.Guarded, Row{Kind: Config, Object: "config", Left: true,
			Text: "configuration: the file is removed or damaged"})
		return
	}
	j.touch(j.v.path("config"))
	for _, key := range keysOf(j.v.config, after) {
		was, is := j.v.config[key], after[key]
		if slices.Equal(was, is) {
			continue
		}
		row := Row{Kind: Config, Object: key,
			Text: "configuration: " + key + " = " + cmp.Or(strings.Join(is, ", "), "(none)")}
		if len(was) == 0 && len(is) == 1 && j.follows(key, is[0], after) {
			j.e.Bookkeeping = append(j.e.Bookkeeping, row)
		} else {
			j.e.Guarded = append(j.e.Guarded, row)
		}
		j.p.config = append(j.p.config, setting{key, len(was) > 0, is})
	}
}

// follows reports whether a setting says what a new branch follows, and that is there.
func (j *judge) follows(key, is string, after map[string][]string) bool {
	rest, ok := strings.CutPrefix(key, "branch.")
	dot := strings.LastIndex(rest, ".")
	if !ok || dot < 0 {
		return false
	}
	branch, name, r := rest[:dot], rest[dot+1:], j.v.refs
	remote, merged := strings.Join(after["branch."+branch+".remote"], " "), is
	if remote != "." {
		merged = strings.Replace(is, "refs/heads/", "refs/remotes/"+remote+"/", 1)
	}
	return r.before["refs/heads/"+branch] == "" && r.after["refs/heads/"+branch] != "" &&
		(remote == "." || len(j.v.config["remote."+remote+".url"]) > 0) &&
		(name == "remote" || name == "merge" && strings.HasPrefix(is, "refs/heads/") && r.before[merged] != "")
}

// setConfig makes the changes of the configuration.
func (v *View) setConfig(ctx context.Context) {
	file := v.path("config")
	for _, s := range v.plan.config {
		if s.was {
			v.run(ctx, v.real, nil, 0, nil, "config", "--file", file, "--unset-all", s.key)
		}
		for _, value := range s.values {
			v.run(ctx, v.real, nil, 0, nil, "config", "--file", file, "--add", s.key, value)
		}
	}
}
