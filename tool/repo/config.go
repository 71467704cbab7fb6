package repo

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"artoo/tool/names"
)

// settings reads one file of git's configuration, without included files.
func (v *View) settings(ctx context.Context, path string) (map[string][]string, error) {
	list := map[string][]string{}
	if !names.Exists(path) {
		return list, nil
	}
	err := v.git.Run(ctx, nil, 0, func(piece string) error {
		key, value, _ := strings.Cut(piece, "\n")
		list[key] = append(list[key], value)
		return nil
	}, "config", "--file", path, "--no-includes", "--list", "-z")
	return list, err
}

// setting is the first value of a key of the configuration.
func (v *View) setting(key string) string {
	if values := v.config[key]; len(values) > 0 {
		return values[0]
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
func (j *judge) judgeConfig(ctx context.Context) error {
	v := j.v
	if !v.sorted.config {
		return nil
	}
	path := filepath.Join(v.r.Common, "config")
	err := errors.Join(v.copyFile(ctx, "before.config", path, v.openBefore), v.copyFile(ctx, "after.config", path, v.openAfter))
	if err != nil {
		return err
	}
	before, err := v.settings(ctx, filepath.Join(v.dir, "before.config"))
	if err != nil {
		return err
	}
	after, err := v.settings(ctx, filepath.Join(v.dir, "after.config"))
	if readable, err := answer(ctx, err); err != nil {
		return err
	} else if !readable || !names.Exists(filepath.Join(v.dir, "after.config")) {
		j.e.Guarded = append(j.e.Guarded, Row{Kind: Config, Object: "config", Left: true, Text: "configuration: the file is removed or damaged"})
		return nil
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
		rows := j.branchSetting(key, was, is, after)
		*rows = append(*rows, row)
		j.p.config = append(j.p.config, setting{key, len(was) > 0, is})
	}
	return nil
}

// branchSetting is the list for the row of a setting: bookkeeping for the upstream of a new branch, content for the
// settings of a deleted one.
func (j *judge) branchSetting(key string, was, is []string, after map[string][]string) *[]Row {
	rest, ok := strings.CutPrefix(key, "branch.")
	dot := strings.LastIndex(rest, ".")
	if !ok || dot < 0 {
		return &j.e.Guarded
	}
	branch, name := rest[:dot], rest[dot+1:]
	before, now := j.v.refs.before["refs/heads/"+branch], j.v.refs.after["refs/heads/"+branch]
	switch {
	case before != "" && now == "" && len(is) == 0:
		return &j.e.Content
	case before != "" || now == "" || len(was) > 0 || len(is) != 1:
		return &j.e.Guarded
	}
	remote, merged := strings.Join(after["branch."+branch+".remote"], " "), is[0]
	known := remote == "." || len(j.v.config["remote."+remote+".url"]) > 0
	if remote != "." {
		merged = strings.Replace(merged, "refs/heads/", "refs/remotes/"+remote+"/", 1)
	}
	if known && (name == "remote" || name == "merge" && strings.HasPrefix(is[0], "refs/heads/") && j.v.refs.before[merged] != "") {
		return &j.e.Bookkeeping
	}
	return &j.e.Guarded
}

// setConfig makes the changes of the configuration.
func (v *View) setConfig(ctx context.Context) error {
	file := filepath.Join(v.r.Common, "config")
	for _, s := range v.plan.config {
		if s.was {
			if err := v.real.Do(ctx, "config", "--file", file, "--unset-all", s.key); err != nil {
				return err
			}
		}
		for _, value := range s.values {
			if err := v.real.Do(ctx, "config", "--file", file, "--add", s.key, value); err != nil {
				return fmt.Errorf("%s: %w", s.key, err)
			}
		}
	}
	return nil
}
