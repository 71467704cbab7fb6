package demo

import (
	"encoding/json"
	"slices"
	"strings"

	"artoo/provider"
	"artoo/tool/text"
)

type scene struct {
	fresh   bool      // the script has said nothing yet
	ended   bool      // it has given its last answer, and the user went on
	spoken  bool      // the user said something in the middle of it
	init    bool      // the user asked for an AGENTS.md, which is no part of the script
	calls   int       // all calls so far, for ids
	look    *exchange // the file was read, or that was refused
	checks  []exchange
	edit    *exchange
	recheck []exchange // checks after the edit
}

type exchange struct {
	call   provider.ToolCall
	result provider.ToolResult
}

// read makes out the scene of a history. An interrupted call was never made.
func read(messages []provider.Message) scene {
	s := scene{fresh: true}
	results := map[string]provider.ToolResult{}
	for _, m := range messages {
		for _, p := range m.Parts {
			if r, ok := p.(provider.ToolResult); ok {
				results[r.CallID] = r
			}
		}
	}
	answered := false // a reply had no calls
	for i, m := range messages {
		switch m.Role {
		case provider.RoleUser:
			if s.init = asksForInit(m); s.init {
				continue
			}
			s.ended = s.ended || answered
			s.spoken = !s.fresh && i == len(messages)-1
		case provider.RoleAssistant:
			if s.init {
				continue
			}
			s.fresh = false
			answered = !m.Partial && len(m.Calls()) == 0
			for _, c := range m.Calls() {
				s.calls++
				r, ok := results[c.ID]
				if ok && !(r.IsError && strings.HasPrefix(strings.ToLower(r.Text), "interrupted")) {
					s.add(exchange{c, r})
				}
			}
		}
	}
	return s
}

// asksForInit reports whether a message is that of /init.
func asksForInit(m provider.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p provider.Part) bool {
		text, ok := p.(provider.Text)
		return ok && strings.HasPrefix(text.Text, "Write AGENTS.md ")
	})
}

func (s *scene) add(x exchange) {
	switch x.call.Name {
	case "read":
		s.look = &x
	case "edit":
		s.edit = &x
	case "bash":
		if s.edit == nil {
			s.checks = append(s.checks, x)
		} else {
			s.recheck = append(s.recheck, x)
		}
	}
}

type verdict int

const (
	unknown verdict = iota // it was not run: refused, or never asked
	useless                // it ran, but tells nothing: no Go on this machine
	failed
	passed
)

func (x exchange) verdict() verdict {
	text := x.result.Text
	switch {
	case !x.result.IsError:
		return passed
	case strings.Contains(text, "--- FAIL"):
		return failed
	case x.command() == shellCheck && strings.Contains(text, "[exit status 1]"): // grep found nothing
		return failed
	case strings.Contains(text, "exit status"):
		return useless
	}
	return unknown
}

func (x exchange) command() string {
	var in struct {
		Command string `json:"command"`
	}
	if err := json.Unmarshal(x.call.Input, &in); err != nil {
		return ""
	}
	return in.Command
}

func last(checks []exchange) (x exchange, v verdict) {
	if len(checks) == 0 {
		return exchange{}, unknown
	}
	x = checks[len(checks)-1]
	return x, x.verdict()
}

// Outcome reports whether the program is fixed by the results of the tools, and why in one
// line. Main uses it for the exit code.
func Outcome(messages []provider.Message) (fixed bool, why string) {
	s := read(messages)
	before, first := last(s.checks)
	after, second := last(s.recheck)
	switch {
	case s.edit == nil && first == passed:
		return true, before.command() + " passed already, nothing was changed"
	case s.edit == nil && s.look != nil && s.look.result.IsError:
		return false, source + " could not be read: " + text.Clip(text.FirstLine(s.look.result.Text), 161)
	case s.edit == nil && first == failed:
		return false, before.command() + " fails, and " + source + " was not edited"
	case s.edit == nil:
		return false, source + " was not edited"
	case s.edit.result.IsError:
		return false, "the edit of " + source + " failed: " + text.Clip(text.FirstLine(s.edit.result.Text), 161)
	case second == passed:
		return true, after.command() + " passes after the edit of " + source
	case second == failed:
		return false, after.command() + " still fails after the edit of " + source
	}
	return false, source + " was edited, but no check could be run after it"
}
