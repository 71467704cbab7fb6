package agent

import (
	"slices"
	"strings"

	"artoo/agent/confine"
	"artoo/agent/permission"
	"artoo/tool/builtin"
	"artoo/tool/sandbox"
	"artoo/tool/text"
)

// denialOf describes the denial of a kind that a command met; "" for none.
func denialOf(c confine.Confined, kind string) string {
	for _, d := range c.Denials() {
		if d.Kind == kind {
			return d.What
		}
	}
	return ""
}

// nameDenials reports to the model the files and hosts that a confined command could not reach.
func (c *calls) nameDenials(r *ran) {
	var words []string
	for _, d := range r.confined.Denials() {
		lost := d.Kind == sandbox.DenialHome || d.Kind == sandbox.DenialWrite || d.Kind == sandbox.DenialGuarded
		// nameHosts names that of a line with hosts.
		unsaid := d.Kind == sandbox.DenialNetwork && len(r.decision.Hosts) > 0 ||
			d.Kind == sandbox.DenialWrite && r.decision.Place == permission.PlaceReadOnly
		if (lost || r.IsError) && !unsaid && !slices.Contains(words, d.What) {
			words = append(words, d.What)
		}
	}
	if leaksUnseen(r.call.Access.Command, r.Text) {
		words = append(words, sandbox.LeaksOff)
	}
	words = append(words, c.session.hiddenFrom(r.confined, r.call.Access.Dir, r.call.Access.Command, r.Text, r.IsError)...)
	if can := c.session.opt.Policy.Confinement; r.decision.Git && (can.Layer && r.decision.Place == permission.PlaceBackground || !can.Layer && can.ByEntry) {
		if tracked := c.session.hiddenTracked(); len(tracked) > 0 {
			words = append(words, "hidden here, not deleted: "+text.UpTo(mostHidden, c.session.namesOf(tracked)))
		}
	}
	if len(words) > 0 {
		r.Text += "[confined: " + strings.Join(words, "; ") + "]\n"
	}
}

// leaksUnseen reports whether a command has to do with a sanitizer that would look for leaks on the user's machine.
func leaksUnseen(command, output string) bool {
	output = output[max(0, len(output)-builtin.Heard):]
	return sandbox.LeaksOff != "" && slices.ContainsFunc([]string{"-fsanitize=", "ASAN_OPTIONS", "LSAN_OPTIONS", "AddressSanitizer", "LeakSanitizer"},
		func(mark string) bool { return strings.Contains(command, mark) || strings.Contains(output, mark) })
}
