package demo

import (
	"os"
	"path/filepath"
)

// Prompt is the user's first message, the one the script is written for.
const Prompt = "The test in this directory fails. Find out why and fix it."

// Name is the provider's name and that of its only model.
const Name = "demo"

// The one file the script changes, its faulty line, and the correct one.
const (
	source = "till.go"
	wrong  = "sum += it.Cents"
	right  = "sum += it.Cents * it.Count"
)

// The two checks: the real one, and one for machines without Go.
const (
	goCheck    = "go test ./..."
	shellCheck = `grep -n 'it\.Cents \* it\.Count' ` + source
)

// Files returns the broken program as file names and contents, for main to
// write into a fresh directory.
func Files() map[string]string {
	return map[string]string{
		"go.mod": "module example.org/till\n\ngo 1.21\n",
		source: `// Package till adds up what a customer has to pay.
package till

// Item is one line of a receipt.
type Item struct {
	Name  string
	Cents int // time for one piece
	Count int
}

// Total is the price of all items in cents. From 100.00 on a tenth is taken
// off.
func Total(items []Item) int {
	sum := 0
	for _, it := range items {
		sum += it.Cents
	}
	if sum >= 10000 {
		sum -= sum / 10
	}
	return sum
}
`,
		"till_test.go": `package till

import "testing"

func TestTotal(t *testing.T) {
	tests := []struct {
		name  string
		items []Item
		want  int
	}{
		{"nothing", nil, 0},
		{"one coffee", []Item{{"coffee", 250, 1}}, 250},
		{"three teas", []Item{{"tea", 200, 3}}, 600},
		{"four cakes", []Item{{"cake", 3000, 4}}, 10800},
	}
	for _, tt := range tests {
		if got := Total(tt.items); got != tt.want {
			t.Errorf("%s: Total is %d, want %d", tt.name, got, tt.want)
		}
	}
}
`,
	}
}

// Scratch writes Files into a new directory of their own and returns it, links
// resolved, in the directory temp. It stays: the demonstration leaves the fixed program.
func Scratch(temp string) (string, error) {
	dir, err := os.MkdirTemp(temp, "artoo-demo-")
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
