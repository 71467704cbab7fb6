package config

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"artoo/tool/extension"
	"artoo/tool/names"
	"artoo/tool/spelling"
	"artoo/tool/text"
)

// hookTable is a [[hooks]] table as it is written.
type hookTable struct {
	On        string   `toml:"on"`
	Match     string   `toml:"match"`
	PassEnv   []string `toml:"pass_env"`
	Format    string   `toml:"format"`
	OnFailure string   `toml:"on_failure"`
	MayAnswer *bool    `toml:"may_answer"`
}

// exampleHook is shown where a table is wrong.
const exampleHook = `command = ["~/bin/guard"]`

// hooks reads the [[hooks]] tables in the order of the file. Only the user's own file and the
// system's policy may let a failure pass or have a hook answer.
func (d *document) hooks(v any, from extension.Origin) (hooks []extension.Hook) {
	list, ok := tables(v)
	if !ok {
		d.wrong([]string{"hooks"}, "hooks must be an array of tables, not "+typeName(v), "[[hooks]]")
		return nil
	}
	for i, m := range list {
		t := &table{doc: d, path: []string{"hooks", "[" + strconv.Itoa(i) + "]"}, m: m, asked: map[string]bool{}}
		if from.Place = d.where(t.path...); from.Source == extension.SourceRepository {
			from.Place = path.Join(path.Dir(ProjectFile), from.Place)
		}
		hooks = append(hooks, t.hook(from))
	}
	return hooks
}

// hook reads one table, and records its errors.
func (t *table) hook(from extension.Origin) extension.Hook {
	var read hookTable
	t.fill(&read)
	h := extension.Hook{Origin: from, On: extension.Event(read.On), PassEnv: read.PassEnv, Match: text.Outside(read.Match, "|"),
		Claude: read.Format == "claude", MayAnswer: read.MayAnswer != nil && *read.MayAnswer}
	h.Warn = read.OnFailure == "warn" || h.Claude && read.OnFailure == ""
	t.hookCommand(&h)
	t.hookTimeout(&h)
	t.leftover(true)
	wrong := func(key, why, hint string) { t.doc.wrong(t.at(key), t.name(key)+": "+why, hint) }
	if !slices.Contains(extension.Events(), h.On) {
		var names []string
		for _, e := range extension.Events() {
			names = append(names, string(e))
		}
		wrong("on", "no such event: "+asWritten(read.On), strings.TrimSpace(
			spelling.Nearest(read.On, names)+" ("+strings.Join(names, ", ")+")"))
	}
	if read.Match != "" && !h.On.OfTool() {
		wrong("match", "rules match tool calls, and "+read.On+" is not about one", "remove the line")
	}
	oneOf(t, "format", []string{"artoo", "claude"})
	oneOf(t, "on_failure", []string{"block", "warn"})
	if from.Source.ThirdParty() && (read.OnFailure == "warn" || h.MayAnswer) {
		t.doc.wrong(t.at("on"), t.name("on")+": a project's hook can only deny, ask and add context", "remove may_answer and on_failure")
	}
	if h.MayAnswer && h.On != extension.OnQuestion {
		wrong("may_answer", "only a hook on question can answer", `on = "question"`)
	}
	return h
}

// hookCommand reads the command: an array is a program with its arguments, a string a shell line.
func (t *table) hookCommand(h *extension.Hook) {
	v, there := t.get("command")
	line, isLine := v.(string)
	words, isList := stringList(v, false)
	switch {
	case !there:
		t.doc.wrong(t.path, "[[hooks]] has no command", exampleHook)
	case isLine && strings.TrimSpace(line) != "":
		h.Line = line
	case isList && len(words) > 0 && words[0] != "":
		if !h.Source.ThirdParty() {
			words[0] = names.InHome(words[0], t.doc.home)
		}
		h.Command = words
	default:
		t.mismatch("command", "an array with a program and its arguments, or a shell line", v)
	}
}

func (t *table) hookTimeout(h *extension.Hook) {
	v, there := t.get("timeout")
	if !there {
		return
	}
	var limit Time
	if err := limit.Decode(fmt.Sprint(v)); err != nil || limit <= 0 {
		t.doc.wrong(t.at("timeout"), t.name("timeout")+" is not a time like 10s", `timeout = "10s"`)
	}
	h.Timeout = time.Duration(limit)
}
