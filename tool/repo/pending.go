package repo

import (
	"path/filepath"
	"strings"
)

// mostMessage is how many bytes of a message are taken over.
const mostMessage = 1 << 20

// namesCommits reports whether each line of a message is the id of a commit.
func namesCommits(message string) bool { return strings.HasSuffix(message, "_HEAD") }

// message is what one of the messages held and holds.
func (v *View) message(name string) (before, after []byte, err error) {
	path := filepath.Join(v.r.GitDir, name)
	if before, err = v.before(path); err != nil {
		return nil, nil, err
	}
	after, err = v.after(path)
	return before, after, err
}

// pendingTips are the commits that a merge, cherry-pick or revert is yet to use.
func (j *judge) pendingTips() (tips []tip, err error) {
	for _, name := range j.v.sorted.messages {
		if !namesCommits(name) {
			continue
		}
		_, after, err := j.v.message(name)
		if err != nil {
			return nil, err
		}
		for _, id := range strings.Fields(string(after)) {
			if j.v.format.isID(id) {
				tips = append(tips, tip{id, name})
			}
		}
	}
	return tips, nil
}

// pending judges what the line left of a merge, cherry-pick or revert, or ended of it.
func (j *judge) pending(bad map[string]bool) error {
	for _, name := range j.v.sorted.messages {
		before, after, err := j.v.message(name)
		if err != nil {
			return err
		}
		if same(before, after) {
			continue
		}
		if len(after) > mostMessage {
			j.badRef(name, name+" is too long")
			continue
		}
		if !namesCommits(name) {
			j.e.Bookkeeping = append(j.e.Bookkeeping, Row{Kind: Pending, Object: name, Text: name + ": for the next commit"})
			j.p.messages = append(j.p.messages, message{name, before, after})
			continue
		}
		ids := strings.Fields(string(after))
		whole := after == nil || string(after) == strings.Join(ids, "\n")+"\n"
		for _, id := range ids {
			whole = whole && j.v.format.isID(id) && !bad[id] && j.kinds[id] == "commit"
		}
		row := Row{Kind: Pending, Object: name, Text: name + ": ended"}
		switch {
		case !whole:
			j.badRef(name, name+" does not name whole commits")
			continue
		case after != nil:
			var named []string
			for _, id := range ids {
				named = append(named, j.named(id))
			}
			row.Text = name + ": to be finished with " + strings.Join(named, ", ")
		}
		j.e.Content = append(j.e.Content, row)
		j.p.messages = append(j.p.messages, message{name, before, after})
	}
	return nil
}
