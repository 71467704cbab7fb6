package repo

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"artoo/tool/names"
)

// settings reads one file of git's configuration, without included files. ok says that git could, or that there is none.
func (v *View) settings(ctx context.Context, path string) (list map[string][]string, ok bool) {
	list = map[string][]string{}
	return list, !names.Exists(path) || v.ask(ctx, v.git, nil, 0, func(piece string) error {
		key, value, _ := strings.Cut(piece, "\n")
		list[key] = append(list[key], value)
		return nil
	}, "config", "--file", path, "--no-includes", "--list", "-z")
}

// setting is the first value of a key of the configuration.
func (v *View) setting(key string) string {
	for _, value := range v.config[key] {
		return value
	}
	return ""
}

// setting is a key of the configuration that changes.
type setting struct {
	key    string
	was    bool
	values []string
}

// judgeConfig sorts the settings that changed.
func (j *judge) judgeConfig(ctx context.Context) {
	v := j.v
	if v.sorted[config] == nil {
		return
	}
	copied := filepath.Join(v.dir, "before.config")
	v.copy(ctx, "before.config", v.path("config"), false)
	v.copy(ctx, "after.config", v.path("config"), true)
	before, _ := v.settings(ctx, copied)
	copied = filepath.Join(v.dir, "after.config")
	after, ok := v.settings(ctx, copied)
	if !ok || !names.Exists(copied) {
		j.e.Guarded = append(j.e.Guarded, Row{Kind: Config, Object: "config", Left: true, Text: "configuration: the file is removed or damaged"})
		return
	}
	for _, key := range keysOf(before, after) {
		was, is := before[key], after[key]
		if slices.Equal(was, is) {
			continue
		}
		row := Row{Kind: Config, Object: key, Text: "configuration: " + key + " = " + strings.Join(is, ", ")}
		if len(is) == 0 {
			row.Text = "configuration: " + key + " removed, was " + strings.Join(was, ", ")
		}
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
