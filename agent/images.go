package agent

import (
	"crypto/sha256"
	"fmt"

	"artoo/provider"
)

// imageSet is a set of images, known by their bytes. nil holds none.
type imageSet map[[sha256.Size]byte]bool

func (s imageSet) has(img provider.Image) bool { return len(s) > 0 && s[sha256.Sum256(img.Data)] }

func (t *turn) takesNoImages(end ending) bool {
	return end.refused().Code == provider.CodeNoImages && t.model.Info.Images
}

func (t *turn) disableImages(ending) error {
	t.model.Info.Images = false
	return nil
}

func (t *turn) imagesRefused(end ending) bool { return end.refused().Images }

// leaveImagesOut learns from a request that was refused for its images: some
// servers take only so many, or cannot read one. Which, they rarely say, so the
// older half is left out from now on, until what is left is taken.
func (t *turn) leaveImagesOut(end ending) error {
	images := provider.Images(end.sent)
	if len(images) == 0 {
		t.refused = nil // refused without any: they were not at fault
		return end.err
	}
	if t.refused == nil {
		t.refused = imageSet{}
	}
	older := images[:(len(images)+1)/2]
	for _, img := range older {
		t.refused[sha256.Sum256(img.Data)] = true
	}
	t.notice(NoticeInfo, fmt.Sprintf("%s: %s left out from now on", end.err, count(len(older), "image")))
	return nil
}
