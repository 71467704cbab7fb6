package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// licensed is a module whose code is in a binary, with its licence.
type licensed struct {
	Path, Version string
	IDs           []string // SPDX identifiers, sorted
	Texts         []string // each file of licence and notice, whole
}

// expression is the SPDX expression of the licences.
func (l licensed) expression() string { return strings.Join(l.IDs, " AND ") }

// platforms are those that a release has binaries for.
var platforms = [...]string{"linux_amd64", "linux_arm64", "darwin_amd64", "darwin_arm64"}

// isLicense matches the files that a copy of a module's code has to be accompanied by.
var isLicense = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents|unlicense)([-._].*)?$`)

// linked are the modules that the program in root links on any platform, by path; the standard library is "std".
func linked(root string) (map[string]licensed, error) {
	dirs, modules := map[string][]string{}, map[string]licensed{}
	for _, platform := range platforms {
		system, architecture, _ := strings.Cut(platform, "_")
		cmd := exec.Command("go", "list", "-deps", "-json=Dir,Standard,Module,Root", ".")
		cmd.Dir, cmd.Stderr = root, os.Stderr
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+architecture)
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("go list for %s: %w", platform, err)
		}
		for list := json.NewDecoder(bytes.NewReader(out)); ; {
			var p listed
			if err := list.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, err
			}
			if p.Module != nil && p.Module.Main {
				continue
			}
			if p.Standard {
				// Its only other licence is for an assembly that cgo links.
				modules["std"], dirs["std"] = licensed{Path: "std"}, []string{p.Root}
				continue
			}
			l := licensed{Path: p.Module.Path, Version: p.Module.Version}
			modules[l.Path] = l
			// A package may have a licence besides that of its module.
			for dir := p.Dir; strings.HasPrefix(dir, p.Module.Dir); dir = filepath.Dir(dir) {
				dirs[l.Path] = append(dirs[l.Path], dir)
			}
		}
	}
	for path, l := range modules {
		slices.Sort(dirs[path])
		if err := l.read(slices.Compact(dirs[path])); err != nil {
			return nil, err
		}
		modules[path] = l
	}
	return modules, nil
}

// listed is a package as go list prints it.
type listed struct {
	Dir, Root string
	Standard  bool
	Module    *struct {
		Path, Version, Dir string
		Main               bool
	}
}

// read reads the licences in dirs. A module without a recognised one is an error: nothing is published
// before somebody has read what it says.
func (l *licensed) read(dirs []string) error {
	ids := map[string]bool{}
	for _, dir := range dirs {
		files, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, f := range files {
			if !isLicense.MatchString(f.Name()) || !f.Type().IsRegular() || strings.HasSuffix(f.Name(), ".go") {
				continue
			}
			text, err := os.ReadFile(filepath.Join(dir, f.Name()))
			if err != nil {
				return err
			}
			l.Texts = append(l.Texts, strings.TrimSpace(string(text)))
			for _, m := range licensecheck.Scan(text).Match {
				if !m.IsURL && m.ID != "GooglePatentsFile" {
					ids[m.ID] = true
				}
			}
		}
	}
	if l.IDs = slices.Sorted(maps.Keys(ids)); len(l.IDs) == 0 {
		return fmt.Errorf("%s %s: no licence is recognised in its files", l.Path, l.Version)
	}
	return nil
}

// notices is the text that accompanies every binary: each module with its licence, and each text once.
func notices(modules map[string]licensed) []byte {
	var out bytes.Buffer
	out.WriteString("artoo is under the MIT licence. Its binary contains the Go standard library (std) and the\n" +
		"modules below. The container image also contains root certificates as Mozilla publishes\n" +
		"them, under the MPL-2.0.\n\n")
	names := map[string][]string{}
	for _, path := range slices.Sorted(maps.Keys(modules)) {
		l := modules[path]
		name := strings.TrimSpace(path + " " + l.Version)
		fmt.Fprintf(&out, "%s: %s\n", name, l.expression())
		for _, text := range l.Texts {
			names[text] = append(names[text], name)
		}
	}
	texts := slices.SortedFunc(maps.Keys(names), func(a, b string) int {
		return strings.Compare(names[a][0]+a, names[b][0]+b)
	})
	for _, text := range texts {
		fmt.Fprintf(&out, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 78), strings.Join(slices.Compact(names[text]), "\n"), text)
	}
	return out.Bytes()
}
