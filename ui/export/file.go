package export

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// File writes the session to a file, whose name decides the format, and returns its path. A relative name starts at
// dir, which is absolute; "" is artoo-ID.md; a directory gets a file of that name. The file appears whole or not at
// all, for its owner only, and never replaces another. An *Error says what is wrong with the name.
func File(dir, name string, s Session) (path string, err error) {
	if path = name; name == "-" {
		return "", &Error{What: name, Why: "is no file's name", Hint: "give a name that ends in .md, .json or .html"}
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, name)
	}
	if info, err := os.Stat(path); name == "" || err == nil && info.IsDir() || os.IsPathSeparator(name[len(name)-1]) {
		path = filepath.Join(path, fileName(s.ID))
	}
	format, err := formatOfFile(path)
	if err != nil {
		return "", err
	}
	if _, err := os.Lstat(path); err == nil {
		return "", exists(path)
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".artoo-export-*")
	if err != nil {
		return "", nameError(path, err)
	}
	defer os.Remove(file.Name()) // gone already where it was renamed
	err = Write(file, format, s)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return "", err
	}
	return path, place(file.Name(), path)
}

// place gives the finished file its name, without replacing another.
func place(temp, path string) error {
	err := os.Link(temp, path)
	if err == nil {
		return nil
	}
	if errors.Is(err, fs.ErrExist) {
		return exists(path)
	}
	// This file system has no second names. The name is taken first, so that no other file is lost.
	taken, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return exists(path)
	}
	if err != nil {
		return nameError(path, err)
	}
	if err := errors.Join(taken.Close(), os.Rename(temp, path)); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

func exists(path string) error {
	return &Error{What: path, Why: "exists already and is not replaced", Hint: "give another name"}
}

func nameError(path string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return &Error{What: path, Why: "cannot be written: " + err.Error(),
		Hint: "give a name in a directory that exists and can be written"}
}

// fileName is the name a session's file gets unless told otherwise.
func fileName(id string) string {
	id = cmp.Or(id, "session")
	return "artoo-" + strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, id) + ".md"
}
