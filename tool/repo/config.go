package repo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// settings reads one file of git's configuration, without included files.
func (v *View) settings(ctx context.Context, path string) (map[string][]string, error) {
	list := map[string][]string{}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return list, nil
	}
	err := v.git.Run(ctx, nil, 0, func(piece string) error {
		key, value, _ := strings.Cut(piece, "\n")
		list[key] = append(list[key], value)
		return nil
	}, "config", "--file", path, "--no-includes", "--list", "-z")
	return list, err
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
	if v.isGone(path) {
		j.e.Guarded = append(j.e.Guarded, Row{Kind: Config, Object: "config", Left: true, Text: "configuration: the file is removed"})
		return nil
	}
	if err := v.copyFile(ctx, "after.config", path, v.open); err != nil {
		return err
	}
	after, err := v.settings(ctx, filepath.Join(v.dir, "after.config"))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		j.e.Guarded = append(j.e.Guarded, Row{Kind: Config, Object: "config", Left: true,
			Text: "configuration: git cannot read the changed file"})
		return nil
	}
	for _, key := range keysOf(v.config, after) {
		was, is := v.config[key], after[key]
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
	remote := is[0]
	if name == "merge" {
		if list := after["branch."+branch+".remote"]; len(list) == 1 {
			remote = list[0]
		}
	}
	known := remote == "." || len(j.v.config["remote."+remote+".url"]) > 0
	target, isBranch := strings.CutPrefix(is[0], "refs/heads/")
	merged := "refs/remotes/" + remote + "/" + target
	if remote == "." {
		merged = is[0]
	}
	if known && (name == "remote" || name == "merge" && isBranch && j.v.refs.before[merged] != "") {
		return &j.e.Bookkeeping
	}
	return &j.e.Guarded
}

// setConfig makes a change of the configuration.
func (v *View) setConfig(ctx context.Context, s setting) error {
	file := filepath.Join(v.r.Common, "config")
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
	return nil
}
