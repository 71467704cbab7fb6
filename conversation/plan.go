package conversation

import (
	"artoo/provider"
)

// planner works out a trim on a copy of the history.
type planner struct {
	c     *Conversation
	items []item
	size  size
	trimming
	record trimRecord
	did    Trimmed
}

func (p *planner) tokens() float64 { return p.before * p.c.meter.share(p.c.size, p.size) }

func (p *planner) enough() bool { return p.tokens() <= p.goal }

func (p *planner) over() bool { return p.tokens() > p.limit }

// bytes is about how many bytes so many tokens are.
func (p *planner) bytes(tokens float64) int {
	whole := p.c.size.bytes + p.c.meter.overhead
	if p.before < 1 || p.c.size.images > 0 {
		return int(tokens * p.c.meter.ratio)
	}
	return int(tokens * float64(whole) / p.before)
}

func (p *planner) run() {
	recent := recentFrom(p.items, stepsOf(p.items))
	latest := lastUser(p.items)
	if p.all {
		latest = -1 // no turn is under way
	}
	p.images(recent, latest)
	p.results(recent)
	p.did.Texts = p.texts(recent)
	p.users(latest)
	p.steps(keptSteps)
	if p.over() {
		p.recentResults(p.limit)
	}
	// Three answers fill a window of 4,096 tokens: without this no further
	// message would ever fit.
	if p.over() {
		p.did.RecentTexts = p.texts(lastUser(p.items))
	}
	if p.all {
		p.steps(0)
	}
	if p.over() {
		p.oldUsers(latest >= 0)
	}
}

// oldUsers drops the user's messages, the oldest first, but the latest if that is
// to stay.
func (p *planner) oldUsers(stay bool) {
	latest, left := -1, p.size
	if stay {
		latest = lastUser(p.items)
	}
	for i, it := range p.items {
		if it.msg.Role == provider.RoleUser && i != latest {
			left = left.minus(it.size)
		}
	}
	if p.before*p.c.meter.share(p.c.size, left) > p.limit+float64(p.c.reserve) {
		return // nothing is gained with them
	}
	kept := p.items[:0]
	for i, it := range p.items {
		if it.msg.Role != provider.RoleUser || i == latest || p.enough() {
			kept = append(kept, it)
			continue
		}
		p.size = p.size.minus(it.size)
		p.record.Drop = append(p.record.Drop, it.id)
		if !isReminder(it.msg) {
			p.did.Messages++
		}
	}
	p.items = kept
}

// edit makes an edit and records it.
func (p *planner) edit(i int, e edit) {
	e.Message = p.items[i].id
	before := p.items[i].size
	if p.items[i].apply(e) {
		p.size = p.size.minus(before).plus(p.items[i].size)
		p.record.Edits = append(p.record.Edits, e)
	}
}

// steps drops whole steps, the oldest first, but not the last few.
func (p *planner) steps(kept int) {
	steps := stepsOf(p.items)
	steps = steps[:max(0, len(steps)-kept)]
	drop := make([]bool, len(p.items))
	left := map[int]bool{} // user messages after which steps were dropped
	user := -1
	next := 0
	for i := 0; i < len(p.items) && next < len(steps) && !p.enough(); i++ {
		if p.items[i].msg.Role == provider.RoleUser {
			user = i
		}
		if i != steps[next].from {
			continue
		}
		for k := steps[next].from; k < steps[next].to; k++ {
			drop[k] = true
			p.size = p.size.minus(p.items[k].size)
			p.record.Drop = append(p.record.Drop, p.items[k].id)
		}
		if user >= 0 && !left[user] {
			left[user] = true
			p.note(user)
		}
		p.did.Steps++
		next++
	}
	remain := p.items[:0]
	for i, it := range p.items {
		if !drop[i] {
			remain = append(remain, it)
		}
	}
	p.items = remain
}

// note tells the model that steps are missing after a user message.
func (p *planner) note(i int) {
	const text = "[What you did and answered next was left out to save room.]"
	if p.items[i].note == text {
		return
	}
	before := p.items[i].size
	p.items[i].note = text
	p.items[i].measure()
	p.size = p.size.minus(before).plus(p.items[i].size)
	p.record.Notes = append(p.record.Notes, leftNote{Message: p.items[i].id, Text: text})
}

// recentResults shortens the results of the last steps: the alternative is to
// send nothing at all.
func (p *planner) recentResults(limit float64) {
	recent := recentFrom(p.items, stepsOf(p.items))
	touched := map[int]bool{}
	for i := recent; i < len(p.items) && !p.enough(); i++ {
		if n := p.did.Images; p.items[i].msg.Role == provider.RoleTool {
			p.imagesOf(i)
			p.did.Recent += min(1, p.did.Images-n)
			touched[i] = p.did.Images > n
		}
	}
	for _, cut := range recentCuts() {
		for i := recent; i < len(p.items); i++ {
			for n, part := range p.items[i].msg.Parts {
				if p.enough() || cut == leastCut && p.tokens() <= limit {
					return
				}
				r, ok := part.(provider.ToolResult)
				if !ok || !longer(r.Text, cut) {
					continue
				}
				place := p.placeOf(r)
				text := shorten(r.Text, cut, place)
				if len(text)+worth > len(r.Text) {
					continue
				}
				p.edit(i, edit{Part: n, Text: text, File: place.path})
				if !touched[i] {
					touched[i] = true
					p.did.Recent++
				}
			}
		}
	}
}
