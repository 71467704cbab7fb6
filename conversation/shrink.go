package conversation

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"artoo/provider"
)

// images replaces old images by a sentence that names their file.
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
	place := p.keep(name, imageExt(img.MediaType), img.Data)
	if place.path == "" {
		return left + "]"
	}
	return left + "; it is in " + place.path + "]"
}

// results shrinks the results before the last steps to one line each.
func (p *planner) results(recent int) {
	for i := range recent {
		if p.items[i].msg.Role != provider.RoleTool {
			continue
		}
		for n, part := range p.items[i].msg.Parts {
			if p.enough() {
				return
			}
			if r, ok := part.(provider.ToolResult); ok && len(r.Text) > worth+150+len(p.c.cfg.OutputDir) {
				e := p.resultLine(r)
				e.Part = n
				p.edit(i, e)
				p.did.Results++
			}
		}
	}
}

// resultLine is the line that stands for an old result. The whole is put into a
// file if it is in none yet.
func (p *planner) resultLine(r provider.ToolResult) edit {
	place := p.placeOf(r)
	of := r.Name
	if r.Effect != nil && r.Effect.End != "" {
		of += " (" + r.Effect.End + ")"
	}
	if place.path == "" {
		return edit{Text: fmt.Sprintf("[old result of %s, %s, left out to save room. Call the tool again if it is needed]",
			of, bytesText(len(r.Text)))}
	}
	text := fmt.Sprintf("[old result of %s, left out to save room. %s %s: read or grep it if it is needed]",
		of, place.why, place.path)
	return edit{Text: text, File: place.path}
}

// placeOf is where the whole result is, or was put just now.
func (p *planner) placeOf(r provider.ToolResult) location {
	if r.File != "" {
		return location{path: r.File, why: "The whole is in", again: true}
	}
	return p.keep(r.Name, ".txt", []byte(r.Text))
}

// texts shortens the model's texts in the first messages, n of them, and returns
// how many it shortened.
func (p *planner) texts(n int) (shortened int) {
	for i := range n {
		if p.items[i].msg.Role != provider.RoleAssistant {
			continue
		}
		for k, part := range p.items[i].msg.Parts {
			if p.enough() {
				return shortened
			}
			if t, ok := part.(provider.Text); ok && longer(t.Text, textLong) {
				p.edit(i, edit{Part: k, Text: clip(t.Text, textKept, " [... shortened to save room]")})
				shortened++
			}
		}
	}
	return shortened
}

// users shortens the user's messages but the latest to what is always kept of
// each, and of all together: the newest keep most.
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

// user shortens the texts of a message to so many bytes together. It reports
// false when enough has been done.
func (p *planner) user(i, left int) bool {
	for n, part := range p.items[i].msg.Parts {
		t, ok := part.(provider.Text)
		// The room for the mark keeps a shortened text from being shortened
		// again.
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
