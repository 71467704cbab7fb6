package agent

import (
	"slices"
	"strings"

	"artoo/tool"
	"artoo/tool/sandbox"
	"artoo/tool/text"
)

// mostHosts is how many hosts a result names.
const mostHosts = 12

// nameHosts names in the result of a command the hosts that it reached and was refused.
func (c *calls) nameHosts(r *ran) {
	if r.call.Access.Kind == tool.KindServer {
		reached, refused := c.servers.network(r.call.Access.Server)
		if c.response.Reach.reached(Reach{Network: reached}); refused != nil {
			r.Text += "\n[network: refused: " + c.session.masked(text.UpTo(mostHosts, refused)) + "]\n"
		}
		return
	}
	if r.confined == nil || len(r.decision.Hosts) == 0 || r.Job != nil && r.Job.Runs() {
		return
	}
	report := r.confined.Network()
	var reached, refused []string
	requests := 0
	for _, at := range report.Reached {
		reached, requests = append(reached, at.Host), requests+at.Requests
	}
	for _, at := range report.Refused {
		refused = append(refused, at.Host+" "+at.Why)
	}
	c.response.Reach.reached(Reach{Network: reached})
	var words []string
	if len(refused) > 0 {
		words = append(words, "refused: "+text.UpTo(mostHosts, refused))
	}
	if r.IsError && denialOf(r.confined, sandbox.DenialNetwork) != "" {
		words = append(words, "a program connected past the proxy, where there is no network; "+
			"try: have it use https_proxy, or run the line outside the sandbox")
	}
	if words != nil {
		c.cb.notice(NoticeWarning, "network: "+c.session.masked(strings.Join(words, "; ")))
	}
	if len(reached) > 0 {
		count := text.Counted(requests, "request", "requests")
		words = slices.Insert(words, 0, text.UpTo(mostHosts, reached)+", "+count)
	}
	if report.Bound != "" {
		words = append(words, "ended: "+report.Bound)
	}
	if words == nil && r.IsError {
		words = append(words, "nothing came through the proxy, which https_proxy names; a program that ignores it has no network")
	}
	if words != nil {
		r.Text += "[network: " + c.session.masked(strings.Join(words, "; ")) + "]\n"
	}
}
