package conversation

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"artoo/provider"
	"artoo/tool/text"
)

// Images are files in the output directory, named by their SHA-256. A line names an image
// by that sum, also in a fork, which finds it in the other session's directory.

// keepImages writes and syncs the images of a message, and returns the message as its line has it.
func (s *Session) keepImages(m provider.Message) (provider.Message, error) {
	var err error
	m = eachImage(m, func(img provider.Image) (provider.Image, string) {
		if len(img.Data) == 0 {
			return img, ""
		}
		kept := summed(img)
		err = errors.Join(err, s.keepImage(kept, img.Data))
		return kept, ""
	})
	return m, err
}

func summed(img provider.Image) provider.Image {
	sum := sha256.Sum256(img.Data)
	return provider.Image{MediaType: img.MediaType, Name: img.Name, Bytes: len(img.Data),
		SHA256: hex.EncodeToString(sum[:])}
}

// keepImage writes the file of an image, unless it is there and whole.
func (s *Session) keepImage(img provider.Image, data []byte) error {
	path := filepath.Join(s.OutputDir(), imageName(img))
	if _, err := loadImage(path, img); err == nil {
		return nil
	}
	if err := os.MkdirAll(s.OutputDir(), 0o700); err != nil {
		return err
	}
	// The file broke off when it was written, or was changed since.
	if err := notMissing(os.Remove(path)); err != nil {
		return err
	}
	f, err := s.store.openFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	s.named(filepath.Dir(s.OutputDir()))
	s.named(s.OutputDir())
	return nil
}

// loadImages loads the images of the history, with their data if they are sent. A sentence
// replaces one that is missing.
func (s *Session) loadImages(data bool) {
	trimmed := trimmedParts(s.history)
	lost := 0
	for _, e := range s.history {
		if record, ok := e.payload.(*messageRecord); ok {
			var lacking int
			record.Message, lacking = s.withImages(record.Message, data)
			if lacking > 0 && !trimmed[e.ID] {
				lost += lacking
			}
		}
	}
	if lost > 0 {
		s.notices = append(s.notices, "left out, no longer in the session's files: "+text.Count(lost, "image"))
	}
}

// trimmedParts are the IDs of messages whose images may be trimmed already.
func trimmedParts(history []entry) map[string]bool {
	trimmed := map[string]bool{}
	for _, e := range history {
		if r, ok := e.payload.(*trimRecord); ok {
			for _, id := range r.Drop {
				trimmed[id] = true
			}
			for _, edit := range r.Edits {
				trimmed[edit.Message] = true
			}
		}
	}
	return trimmed
}

// withImages is the message with its images, and how many are not there.
func (s *Session) withImages(m provider.Message, data bool) (with provider.Message, lost int) {
	with = eachImage(m, func(img provider.Image) (provider.Image, string) {
		if img.SHA256 == "" {
			return img, ""
		}
		path := s.imageFile(img)
		if path != "" && !data {
			return img, ""
		}
		if bytes, err := loadImage(path, img); err == nil {
			return provider.Image{MediaType: img.MediaType, Data: bytes, Name: img.Name}, ""
		}
		lost++
		return img, img.Instead("its file is no longer beside the session")
	})
	return with, lost
}

// imageFile is the path of an image's file in the session's directories, "" if there is none of
// its size.
func (s *Session) imageFile(img provider.Image) string {
	if s == nil {
		return ""
	}
	if img.SHA256 == "" {
		img = summed(img)
	}
	if sum, err := hex.DecodeString(img.SHA256); err != nil || len(sum) != sha256.Size {
		return "" // no name of ours
	}
	for _, dir := range s.OutputDirs() {
		path := filepath.Join(dir, imageName(img))
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && info.Size() == int64(img.Bytes) {
			return path
		}
	}
	return ""
}

// errChanged is a file that is not the image it was.
var errChanged = errors.New("is not the image that was kept")

func loadImage(path string, img provider.Image) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() != int64(img.Bytes) {
		return nil, errChanged
	}
	data, err := os.ReadFile(path)
	if err == nil && summed(provider.Image{Data: data}).SHA256 != img.SHA256 {
		err = errChanged
	}
	return data, err
}

func imageName(img provider.Image) string { return img.SHA256 + imageExt(img.MediaType) }

func imageExt(mediaType string) string {
	ext := map[string]string{"image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp"}[mediaType]
	return cmp.Or(ext, ".png")
}

// eachImage replaces each image of a copy of the message by another or by a sentence. Parts keep
// their index.
func eachImage(m provider.Message, become func(provider.Image) (provider.Image, string)) provider.Message {
	cloned := false
	set := func(i int, p provider.Part) {
		if !cloned {
			m.Parts, cloned = slices.Clone(m.Parts), true
		}
		m.Parts[i] = p
	}
	for i, part := range m.Parts {
		switch p := part.(type) {
		case provider.Image:
			img, instead := become(p)
			if part = img; instead != "" {
				part = provider.Text{Text: instead}
			}
			set(i, part)
		case provider.ToolResult:
			if len(p.Images) == 0 {
				continue
			}
			images := p.Images
			p.Images = nil
			for _, img := range images {
				img, instead := become(img)
				if instead == "" {
					p.Images = append(p.Images, img)
					continue
				}
				if p.Text != "" {
					p.Text += "\n"
				}
				p.Text += instead
			}
			set(i, p)
		}
	}
	return m
}
