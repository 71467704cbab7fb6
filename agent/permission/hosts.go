package permission

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"artoo/agent/permission/line"
	"artoo/tool/web"
)

// hostNeed is a set or a host that a line needs: as a rule names it, in words, and the hosts that it stands for.
type hostNeed struct {
	name, words string
	hosts       []Host
	files       map[string]string
}

// opened is what rules open of the needs of a line, and what is lacking.
type opened struct {
	hosts []Host
	files map[string]string
	lacks []hostNeed
	// exact says that a rule for this very line lists hosts for it.
	exact bool
	// denies refuses a host that the line needs, asks asks about one; nil for none.
	denies, asks *Rule
}

// readsElsewhere are options by which a program that fetches an address reads the user's keys or settings, or goes
// another way.
const readsElsewhere = `-K --config -x --proxy --preproxy --socks4 --socks5 --socks5-hostname -n --netrc --netrc-file
	--netrc-optional --unix-socket --abstract-unix-socket --resolve --connect-to --interface --doh-url --dns-servers
	--noproxy --proxy-header -E --cert --key --load-cookies --use-askpass`

// addressed are the hosts of the addresses that a command fetches; ok is false where its words do not show all of
// them.
func addressed(c line.Command) (hosts []Host, ok bool) {
	name, words := c.Program()
	if !line.In("curl wget", name) || plain(c) != "" || !c.Known() || c.Globs() ||
		line.HaveOption(words, readsElsewhere) {
		return nil, false
	}
	for _, w := range words {
		u, err := url.Parse(w)
		if err != nil || !strings.Contains(w, "://") {
			continue
		}
		host, err := web.ParseHost(u.Host)
		if err != nil || u.User != nil || !line.In("http https", u.Scheme) || web.Own(host) != "" {
			return nil, false
		}
		h := Host{}
		if h.Name, h.Port = web.SplitHost(host); h.Port == "80" || h.Port == "443" {
			h.Port = ""
		}
		hosts = append(hosts, h)
	}
	return hosts, len(hosts) > 0
}

// fetching is what a command needs of the hosts that may be opened to a line in the sandbox. ok is false for a
// command that they do not serve; why says what stands against it, "" for nothing.
func (p *Policy) fetching(s *part) (needs []hostNeed, ok bool, why string) {
	if p.Fetches == nil || s.Elevated || s.Dir == "" {
		return nil, false, ""
	}
	if hosts, ok := addressed(s.Command); ok {
		return line.Each(hosts, func(h Host) hostNeed { return hostNeed{name: h.String(), words: h.String(), hosts: []Host{h}} }), true, ""
	}
	row, ok := installerOf(s.Command)
	if !ok {
		return nil, false, ""
	}
	from, err := p.Fetches(row.set)
	if err != nil {
		return nil, true, err.Error()
	}
	return needsOf(row.set, from), true, from.Key
}

// needsOf are the needs of a command that a set serves.
func needsOf(set string, from Fetches) []hostNeed {
	names := line.Each(from.Hosts, Host.String)
	needs := []hostNeed{{"@" + set, "@" + set + " (" + strings.Join(names, ", ") + ")", from.Hosts, from.Files}}
	for _, other := range from.Named {
		if name := other.Host.String(); !slices.Contains(names, name) {
			needs = append(needs, hostNeed{name: name, words: name + " (named by " + other.File + ")", hosts: []Host{other.Host}})
		}
	}
	return needs
}

// listed are the hosts of a rule, and the line that they are for: its rule for commands, nil for each line.
func (r Rule) listed() (hosts []string, of *Rule) {
	list, text, limited := strings.Cut(r.Arg, " for ")
	if limited {
		of = &Rule{Tool: "bash", Arg: text, HasArg: true, Origin: r.Origin, given: r.given, base: r.base}
	}
	return strings.Fields(list), of
}

// HostsOf are the hosts that the user named for a server, sets and hosts as a rule names them, and the files of sets.
func (p *Policy) HostsOf(names []string) (of Fetches, err error) {
	if len(names) == 0 {
		return of, nil
	}
	r, err := ParseRule(Rule{Tool: hostsTool, Arg: strings.Join(names, " "), HasArg: true}.String())
	if err != nil {
		return of, err
	}
	o := opened{}
	names, _ = r.listed()
	for _, name := range names {
		set, isSet := strings.CutPrefix(name, "@")
		if !isSet {
			host, port := web.SplitHost(name)
			o.add(Host{Name: host, Port: port, Own: !strings.HasPrefix(host, "*")})
			continue
		}
		if p.Fetches == nil {
			return of, errors.New("the sandbox here cannot allow single hosts")
		}
		from, err := p.Fetches(set)
		if err != nil {
			return of, fmt.Errorf("%s: %w", name, err)
		}
		o.add(from.Hosts...)
		o.tell(from.Files)
	}
	for _, h := range o.hosts {
		denies := findRule(p.DenyRules, func(r Rule) bool {
			_, of := r.listed()
			return r.Tool == hostsTool && of == nil && r.lists(h.String(), true)
		})
		if denies != nil {
			return of, fmt.Errorf("the rule %s denies %s", denies, h)
		}
	}
	return Fetches{Hosts: o.hosts, Files: o.files}, nil
}

// ListedBy is what the setting hosts takes to list the hosts of a rule for them: without the line where each is a
// set, or stands in the line's words. ok is false for another rule.
func ListedBy(rule string) (hosts string, ok bool) {
	r, err := ParseRule(rule)
	if err != nil || r.Tool != hostsTool {
		return "", false
	}
	list, text, _ := strings.Cut(r.Arg, " for ")
	unsaid := func(host string) bool { return host[0] != '@' && !strings.Contains(text, host) }
	if slices.ContainsFunc(strings.Fields(list), unsaid) {
		return r.Arg, true
	}
	return strings.ReplaceAll(list, " ", ","), true
}

// lists reports whether a rule for hosts names one that a line needs, a set or a host. One that refuses or asks (wide)
// names the hosts below its own, too, and *.example.org where it names a host below that.
func (r Rule) lists(need string, wide bool) bool {
	hosts, _ := r.listed()
	return slices.ContainsFunc(hosts, func(host string) bool {
		return host == need || !strings.HasPrefix(need, "@") && !strings.HasPrefix(host, "@") &&
			(hostRule(host).matchesHost(need, wide) || wide && hostRule(need).matchesHost(host, false))
	})
}

func hostRule(host string) Rule { return Rule{Tool: hostsTool, Arg: host, HasArg: true} }

// speaksOf reports whether a rule for hosts speaks of the line; exact, that it is for this very line.
func (p *Policy) speaksOf(r Rule, l parsed) (yes, exact bool) {
	_, of := r.listed()
	if r.Tool != hostsTool || of == nil {
		return r.Tool == hostsTool, false
	}
	if exactly([]Rule{*of}, l, p.Root) != nil {
		return true, true
	}
	return l.problem == "" && len(l.parts) > 0 && !slices.ContainsFunc(l.parts, func(s *part) bool {
		return !s.reads && !p.coversCommand(*of, l.tool, s.Command)
	}), false
}

// opens finds the rules that list hosts for a line.
func (p *Policy) opens(needs []hostNeed, l parsed) (o opened) {
	if !p.Confinement.Proxy || p.Fetches == nil || p.Mode == ModePlan && len(needs) == 0 {
		return o
	}
	o.lacks = needs
	for _, need := range needs {
		o.hosts = append(o.hosts, need.hosts...)
		o.tell(need.files)
	}
	// Those of a line whose words do not show that it needs them.
	sets := slices.DeleteFunc(setsOf(l), func(set string) bool {
		return slices.ContainsFunc(needs, func(need hostNeed) bool { return need.name == "@"+set })
	})
	for _, r := range p.allowing() {
		yes, exact := p.speaksOf(r, l)
		if !yes {
			continue
		}
		o.exact = o.exact || exact
		o.lacks = slices.DeleteFunc(slices.Clone(o.lacks), func(need hostNeed) bool { return r.lists(need.name, false) })
		o.open(r)
		for _, set := range sets {
			if !r.lists("@"+set, false) {
				continue
			}
			if from, err := p.Fetches(set); err == nil {
				o.add(from.Hosts...)
				o.tell(from.Files)
			}
		}
	}
	said := func(rules []Rule) *Rule {
		return findRule(rules, func(r Rule) bool {
			yes, _ := p.speaksOf(r, l)
			return yes && (slices.ContainsFunc(needs, func(need hostNeed) bool { return r.lists(need.name, true) }) ||
				slices.ContainsFunc(o.hosts, func(h Host) bool { return r.lists(h.String(), true) }))
		})
	}
	o.denies, o.asks = said(p.DenyRules), said(p.AskRules)
	return o
}

func (o *opened) add(hosts ...Host) {
	for _, h := range hosts {
		if !slices.ContainsFunc(o.hosts, func(there Host) bool { return there.String() == h.String() }) {
			o.hosts = append(o.hosts, h)
		}
	}
}

// tell adds files that name registries.
func (o *opened) tell(files map[string]string) {
	if o.files == nil {
		o.files = map[string]string{}
	}
	maps.Copy(o.files, files)
}

// open adds the hosts of a rule that speaks of one line or program. Only one that the user wrote opens an address of
// this machine or of a private network, and only where it names the host itself.
func (o *opened) open(r Rule) {
	hosts, of := r.listed()
	for _, host := range hosts {
		at := slices.IndexFunc(o.hosts, func(h Host) bool { return h.String() == host })
		own := !r.given && !strings.HasPrefix(host, "*")
		switch {
		case strings.HasPrefix(host, "@"):
		case at >= 0:
			o.hosts[at].Own = o.hosts[at].Own || own
		case of != nil:
			name, port := web.SplitHost(host)
			o.add(Host{Name: name, Port: port, Own: own})
		}
	}
}

// widerHosts is the rule that lists what a line lacks, for each line.
func (o opened) widerHosts() string {
	names := line.Each(o.lacks, func(need hostNeed) string { return need.name })
	return Rule{Tool: hostsTool, Arg: strings.Join(names, " "), HasArg: true}.String()
}

// narrowHosts is the rule that lists what a line lacks, for this very line.
func (o opened) narrowHosts(l parsed) string {
	return strings.TrimSuffix(o.widerHosts(), ")") + " for " + literal(l.text) + ")"
}

// decideHosts asks about hosts that a line lacks, whatever else let it run. The question names its own programs too, and
// its answer covers them.
func (p *Policy) decideHosts(d Decision, l parsed, hosts opened) Decision {
	if d.Verdict == Refuse || len(hosts.lacks) == 0 && hosts.asks == nil {
		return d
	}
	reasons := []Reason{}
	if hosts.asks != nil {
		reasons = d.by(Ask, RuleAsks, *hosts.asks).Reasons
	}
	for _, need := range hosts.lacks {
		reasons = append(reasons, Reason{Code: NeedsHosts, Object: need.words})
	}
	if len(hosts.lacks) > 0 {
		d.Narrow = hosts.narrowHosts(l)
	}
	for _, r := range d.Reasons {
		if d.Verdict == Ask && r.Code != OwnPrograms {
			reasons = append(reasons, r)
		}
	}
	return d.because(Ask, reasons...)
}
