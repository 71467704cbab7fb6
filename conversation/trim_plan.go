package conversation

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"artoo/provider"
	"artoo/tool/text"
)

type planner struct {
	c     *Conversation
	items []item
	size  size
	past  pastWork
	trimming
	record trimRecord
	did    Trimmed
	files  []string // written for this trim
}

func (p *planner) keep(name, ext string, data []byte) location {
	place := p.c.files.keep(name, ext, string(data))
	if place.path != "" {
		p.files = append(p.files, place.path)
	}
	return place
}

// discard removes the files of a trim that is not made. A file that stays costs only space.
func (p *planner) discard() {
	for _, path := range p.files {
		_ = os.Remove(path)
	}
}

func (p *planner) tokens() float64 { return p.before * p.c.meter.share(p.c.size, p.size) }

func (p *planner) enough() bool { return p.tokens() <= p.goal }

func (p *planner) over() bool { return p.tokens() > p.limit }

// bytes is about how many bytes so many tokens are.
func (p *planner) bytes(tokens float64) int {
	whole := p.c.size.bytes + p.c.meter.overhead().bytes
	text := p.before - p.c.meter.factors.of[picture]*float64(p.c.size.tokens[picture])
	if text < 1 || whole == 0 {
		return int(tokens * usualBytes)
	}
	return int(tokens * float64(whole) / text)
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
	// Without this, three answers fill a window of 4,096 tokens.
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

// oldUsers drops the user's messages, the oldest first, except the latest if stay is true.
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
	kept, unsaid := make([]item, 0, len(p.items)), false
	for i, it := range p.items {
		if it.msg.Role != provider.RoleUser || i == latest || p.enough() {
			kept = append(kept, it)
			continue
		}
		p.drop(i)
		unsaid = unsaid || it.note != "" && it.note != "["+stepsLeftOut+"]"
		switch {
		case it.summary:
			p.did.Summaries++
		case !isReminder(it.msg):
			p.did.Messages++
		}
	}
	p.items = kept
	if user := lastUser(p.items); unsaid && user >= 0 { // it stood after one that is gone
		p.report(user, messagesLeftOut)
	}
}

func (p *planner) edit(i int, e edit) {
	e.Message = p.items[i].id
	before := p.items[i].size
	if p.items[i].apply(e) {
		p.size = p.size.minus(before).plus(p.items[i].size)
		p.record.Edits = append(p.record.Edits, e)
	}
}

// steps drops whole steps, the oldest first, but not the last few. The report on them has a size
// too: where it takes the history above the goal again, more steps go.
func (p *planner) steps(kept int) {
	steps := stepsOf(p.items)
	steps = steps[:max(0, len(steps)-kept)]
	drop := map[string]bool{}
	user := -1 // the last user message after which steps were dropped
	for i, step := range steps {
		if p.enough() {
			break
		}
		for k := step.from; k < step.to; k++ {
			drop[p.items[k].id] = true
			p.drop(k)
		}
		if before := lastUser(p.items[:step.from]); before >= 0 {
			user = before
			p.note(user, stepsLeftOut)
		}
		p.did.Steps++
		if !p.enough() && i+1 < len(steps) {
			continue
		}
		if latest := lastUser(p.items); user >= 0 {
			p.report(user, stepsLeftOut)
		} else if latest >= 0 && !p.past.empty() {
			p.report(latest, messagesLeftOut) // the messages before the steps are gone already
		}
	}
	p.items = slices.DeleteFunc(p.items, func(it item) bool { return drop[it.id] })
}

// drop leaves a message out of requests and remembers its work. The caller removes the item.
func (p *planner) drop(i int) {
	p.size = p.size.minus(p.items[i].size)
	p.record.Drop = append(p.record.Drop, p.items[i].id)
	for _, part := range p.items[i].msg.Parts {
		switch part := part.(type) {
		case provider.ToolResult:
			if part.Effect == nil {
				continue
			}
			p.past = p.past.and(*part.Effect)
		case provider.Text:
			if p.items[i].msg.Role != provider.RoleAssistant {
				continue
			}
			p.past = p.past.saying(part.Text)
		default:
			continue
		}
		p.record.Done = &p.past
	}
}

// The notes behind a user message after which steps, or before which messages, were
// dropped.
const (
	stepsLeftOut    = "What you did and answered next was left out to save room."
	messagesLeftOut = "What was said and done before was left out to save room."
)

// report ends the note of one user message with all the work of messages no longer sent.
func (p *planner) report(user int, head string) {
	for i, it := range p.items {
		if it.note != "" && i != user {
			p.note(i, stepsLeftOut)
		}
	}
	if did := p.past.text(p.bytes(float64(p.c.Budget()) / pastShare)); did != "" {
		head += " In all that was left out so far " + did
	}
	p.note(user, head)
}

func (p *planner) note(i int, text string) { p.setNote(i, "["+text+"]") }

func (p *planner) setNote(i int, text string) {
	if p.items[i].note == text {
		return
	}
	before := p.items[i].size
	p.items[i].note = text
	p.items[i].measure()
	p.size = p.size.minus(before).plus(p.items[i].size)
	p.record.Notes = append(p.record.Notes, leftNote{Message: p.items[i].id, Text: text})
}

// recentResults shortens the results of the last steps ever more; they never become a line.
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
	for _, cut := range []int{8000, 2000, 700, leastCut} {
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

func (p *planner) images(recent, latest int) {
	for i := range p.items {
		if i >= recent && p.items[i].msg.Role != provider.RoleUser || i == latest {
			continue
		}
		if p.enough() {
			return
		}
		p.imagesOf(i)
	}
}

func (p *planner) imagesOf(i int) {
	for n, part := range p.items[i].msg.Parts {
		switch part := part.(type) {
		case provider.Image:
			p.edit(i, edit{Part: n, Text: p.imageText("image", part)})
			p.did.Images++
		case provider.ToolResult:
			var texts []string
			for _, img := range part.Images {
				texts = append(texts, p.imageText(part.Name, img))
			}
			if texts != nil {
				p.edit(i, edit{Part: n, Text: strings.Join(texts, "\n"), Add: true})
				p.did.Images += len(texts)
			}
		}
	}
}

func (p *planner) imageText(name string, img provider.Image) string {
	left := "[an image was left out here to save room"
	if img.Name != "" {
		left = "[the image " + img.Name + " was left out here to save room"
	}
	if path := p.c.session.imageFile(img); path != "" {
		return left + "; it is in " + path + "]"
	}
	if place := p.keep(name, imageExt(img.MediaType), img.Data); place.path != "" {
		left += "; it is in " + place.path
	}
	return left + "]"
}

// results shrinks the results before the last steps to one line each.
func (p *planner) results(recent int) {
	p.each(recent, provider.RoleTool, func(i, n int, part provider.Part) {
		if r, ok := part.(provider.ToolResult); ok && len(r.Text) > worth+150+len(p.c.cfg.OutputDir) {
			e := p.resultLine(r)
			e.Part = n
			p.edit(i, e)
			p.did.Results++
		}
	})
}

// each calls do with the parts of a role's messages among the first n, until enough is done.
func (p *planner) each(n int, role provider.Role, do func(i, k int, part provider.Part)) {
	for i := range n {
		if p.items[i].msg.Role != role {
			continue
		}
		for k, part := range p.items[i].msg.Parts {
			if p.enough() {
				return
			}
			do(i, k, part)
		}
	}
}

// resultLine is the line in place of an old result, whose whole is put into a file.
func (p *planner) resultLine(r provider.ToolResult) edit {
	place := p.placeOf(r)
	of := r.Name
	if r.Effect != nil && r.Effect.End != "" {
		of += " (" + r.Effect.End + ")"
	}
	if place.path == "" {
		return edit{Text: fmt.Sprintf("[old result of %s, %s, left out to save room. Call the tool again if it is needed]",
			of, text.Bytes(int64(len(r.Text))))}
	}
	text := fmt.Sprintf("[old result of %s, left out to save room. %s %s: read or grep it if it is needed]",
		of, place.why, place.path)
	return edit{Text: text, File: place.path}
}

func (p *planner) placeOf(r provider.ToolResult) location {
	if r.File != "" {
		return location{path: r.File, why: "The whole is in", again: true}
	}
	return p.keep(r.Name, ".txt", []byte(r.Text))
}

// texts shortens the model's texts in the first n messages and returns how many.
func (p *planner) texts(n int) (shortened int) {
	p.each(n, provider.RoleAssistant, func(i, k int, part provider.Part) {
		if t, ok := part.(provider.Text); ok && longer(t.Text, textLong) {
			p.edit(i, edit{Part: k, Text: strings.TrimSuffix(text.Clip(t.Text, textKept), "…") + " [... shortened to save room]"})
			shortened++
		}
	})
	return shortened
}

// users shortens the user's messages, except the latest, each and all together: the newest
// keep most.
func (p *planner) users(latest int) {
	each := p.bytes(userKept)
	all := p.bytes(userShare * float64(p.c.Budget()))
	if p.c.Budget() <= 0 {
		all = p.size.bytes
	}
	allowed := make([]int, len(p.items))
	for i := len(p.items) - 1; i >= 0; i-- {
		if p.items[i].msg.Role == provider.RoleUser && i != latest {
			most := each
			if p.items[i].summary { // it stands for far more than one message
				most = p.items[i].size.bytes
			}
			allowed[i] = min(most, p.items[i].size.bytes, max(all, 0))
			all -= allowed[i]
		}
	}
	for i := range p.items {
		if p.items[i].msg.Role == provider.RoleUser && i != latest && !p.user(i, allowed[i]) {
			return
		}
	}
}

// user shortens the texts of a message to so many bytes. It reports false when enough is
// done.
func (p *planner) user(i, left int) bool {
	for n, part := range p.items[i].msg.Parts {
		t, ok := part.(provider.Text)
		// Leave room for the mark, or a shortened text is shortened again.
		if !ok || len(t.Text) <= max(left, 0)+2*markerRoom {
			left -= len(t.Text)
			continue
		}
		if p.enough() {
			return false
		}
		chars := max(left, markerRoom) * utf8.RuneCountInString(t.Text) / len(t.Text)
		place := p.keep("message", ".txt", []byte(t.Text))
		p.edit(i, edit{Part: n, Text: shorten(t.Text, chars, place)})
		p.did.Users++
		left = 0
	}
	return true
}
