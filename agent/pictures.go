package agent

import (
	"crypto/sha256"
	"fmt"

	"artoo/provider"
)

// pictures are images, known by their bytes. The zero value holds none.
type pictures map[[sha256.Size]byte]bool

func (p pictures) has(img provider.Image) bool { return p[sha256.Sum256(img.Data)] }

// without is a history with a sentence in the place of each of the pictures.
func (p pictures) without(messages []provider.Message) []provider.Message {
	if len(p) == 0 {
		return messages
	}
	return provider.LeaveOut(messages, p.has)
}

// leaveImagesOut learns from a request that was refused for its images: some
// servers take only so many, or cannot read one. Which, they rarely say, so the
// older half is left out from now on, until what is left is taken. It reports
// whether there is anything to try.
func (t *turn) leaveImagesOut(err error, sent []provider.Message) bool {
	e := provider.AsError(err)
	if e == nil || !e.Images {
		return false
	}
	images := provider.Images(sent)
	if len(images) == 0 {
		t.refused = nil // refused without any: they were not at fault
		return false
	}
	if t.refused == nil {
		t.refused = pictures{}
	}
	older := images[:(len(images)+1)/2]
	for _, img := range older {
		t.refused[sha256.Sum256(img.Data)] = true
	}
	t.partial = ""
	t.cb.OnNotice(Notice{Kind: NoticeInfo, Text: fmt.Sprintf("%s: %s left out from now on", e.Error(), count(len(older), "image"))})
	return true
}
