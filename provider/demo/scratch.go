package demo

import (
	"os"
	"path/filepath"
)

// Scratch writes Files into a new directory of their own and returns it, links
// resolved. It stays: the fixed program is what the demonstration leaves.
func Scratch() (string, error) {
	dir, err := os.MkdirTemp("", "artoo-demo-")
	if err != nil {
		return "", err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", err
	}
	for name, text := range Files() {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	return dir, nil
}
