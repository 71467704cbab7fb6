package files

import (
	"crypto/sha256"
	"strings"
	"unicode/utf8"

	"artoo/tool/diff"
)

// Buffers are the texts of files as an editor has them, saved or not. Any goroutine calls it.
type Buffers interface {
	// Read is the text of the file at an absolute path; ok is false where the editor does not have it.
	Read(path string) (text string, ok bool)
	// Write has the editor change and save the file.
	Write(path, text string) error
}

// AsEdited is the content of the file at the place as an editor has it, and data, its content on
// disk, where no editor has another text.
func (t Place) AsEdited(data []byte) []byte {
	b := t.grant.buffers
	if b == nil || BinaryType(data) != "" {
		return data
	}
	disk, err := Decode(data)
	if err != nil || !utf8.ValidString(disk.Body) { // An editor would not give it back as it was.
		return data
	}
	said, ok := b.Read(t.Abs)
	body, _ := cutReturns(strings.TrimPrefix(said, utf8Marked.Mark()))
	if !ok || len(body) > MaxEdit {
		return data
	}
	hash := sha256.Sum256([]byte(body))
	if body == disk.Body {
		t.grant.synced.Store(t.Abs, hash)
		return data
	}
	if common, ok := t.grant.synced.Load(t.Abs); ok && common == hash { // The editor has not read the later write yet.
		return data
	}
	if raw, err := disk.Apply(diff.Lines(disk.Body, body)).Encode(); err == nil {
		return raw
	}
	return data
}

// SaveUnsaved has the editor save those of these absolute paths that have unsaved changes there: a
// journal then keeps them. Their next write goes through the editor.
func (f *Files) SaveUnsaved(paths ...string) error {
	for _, path := range paths {
		t, err := f.Resolve(path, true)
		if err != nil || t.Refused() != nil || t.grant.buffers == nil {
			continue // The call that wants to write says why it cannot.
		}
		data, _, err := t.ReadFile(MaxEdit)
		if err != nil {
			continue
		}
		edited := t.AsEdited(data)
		if string(edited) == string(data) {
			continue
		}
		if err := t.toEditor(edited); err != nil {
			return err
		}
		f.unsaved.Store(t.Abs, true)
	}
	return nil
}

// toEditor has the editor write the file.
func (t Place) toEditor(data []byte) error {
	text, err := Decode(data)
	if err == nil {
		text.Charset = Plain
		data, err = text.Encode()
	}
	if err == nil {
		err = t.grant.buffers.Write(t.Abs, string(data))
	}
	if err != nil {
		return t.Errorf(err, "has unsaved changes, and the editor could not write it: ")
	}
	return nil
}
