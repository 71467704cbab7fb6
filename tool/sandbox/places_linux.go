//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"artoo/tool/names"
	"artoo/tool/sandbox/launcher"
)

// places are the file tree of commands: how it is made, and which parts they may write and read.
type places struct {
	steps       []launcher.Step
	write, read []string
	layered     []string
	own         []string // directories of artoo's own that lie in those or in read: denied
	home        string
	environ     []string // variables that lead to temporary files and caches

	// To Landlock, which grants existing paths and moves nothing:
	granted []string
	scratch []string
}

// system are the system's directories, and those of others that programs need.
var system = []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/usr", "/etc", "/opt", "/nix", "/gnu",

	"/snap", "/sys", "/run/current-system", "/var/lib/dpkg", "/var/lib/apt", "/var/lib/rpm", "/var/lib/pacman",
	"/var/lib/alternatives", "/var/lib/ca-certificates", "/var/lib/texmf", "/var/cache/fontconfig"}

// resolvers names the servers that resolve host names.
const resolvers = "/etc/resolv.conf"

// nameServer sends resolvers to an address that nothing has, so that they fail at once.
const nameServer = "nameserver 192.0.2.1\n"

// locate plans the file tree.
func (s *Sandbox) locate() (places, error) {
	p := places{}
	var err error
	if p.write, err = outermost(append([]string{s.config.Root}, s.config.Write...)); err != nil {
		return p, err
	}
	if len(p.write) == 0 || slices.Contains(p.write, "/") {
		return p, errors.New("the root directory cannot be a project")
	}
	read := slices.Concat(s.config.Read, s.config.Toolchains)
	p.layered = p.write
	if s.config.Common != "" {
		read = append(read, s.config.Common)
		if p.layered, err = outermost(append(slices.Clone(p.write), s.config.Common)); err != nil {
			return p, err
		}
	}
	if s.config.Temp == "" {
		return p, errors.New("a directory for temporary files is needed")
	}
	// The launcher finds directories below another root, where links lead elsewhere.
	if err := os.MkdirAll(s.config.Temp, 0o700); err != nil {
		return p, err
	}
	if s.config.Temp, err = filepath.EvalSymlinks(s.config.Temp); err != nil {
		return p, err
	}
	if p.read, err = outermost(read); err != nil {
		return p, err
	}
	p.read = slices.DeleteFunc(p.read, func(dir string) bool { return dir == "/" || within(dir, p.write) })
	if s.facts.Mechanism == Landlock {
		return p, s.grants(&p)
	}
	p.systemSteps()
	if s.config.Network {
		for _, file := range naming() {
			p.add(launcher.OpRead, file, file, "")
		}
	} else if file, err := filepath.EvalSymlinks(resolvers); err == nil {
		p.add(launcher.OpFile, "", file, nameServer)
	}
	p.deviceSteps(s.facts.HidesProcess)
	if err := p.tempSteps(s.config); err != nil {
		return p, err
	}
	p.environ = []string{"TMPDIR=" + launcher.Temp}
	if err := s.claimRoom(); err != nil {
		return p, fmt.Errorf("layers: %w", err)
	}
	if s.config.Kept != "" {
		if s.kept, err = s.claim(s.config.Kept); err != nil {
			return p, fmt.Errorf("kept caches: %w", err)
		}
	}
	own := len(p.steps)
	for _, dir := range p.read {
		p.add(launcher.OpRead, dir, dir, "")
	}
	for _, dir := range p.write {
		p.add(launcher.OpWrite, dir, dir, "")
	}
	if err := s.cacheSteps(&p); err != nil {
		return p, err
	}
	// A directory comes before its entries.
	slices.SortStableFunc(p.steps[own:], func(a, b launcher.Step) int {
		return strings.Count(a.To, "/") - strings.Count(b.To, "/")
	})
	seen := slices.Concat(p.read, p.layered)
	for _, dir := range append([]string{filepath.Dir(s.room.Path), s.kept}, s.ownCaches...) {
		if within(dir, seen) {
			p.own = append(p.own, dir)
		}
	}
	for _, step := range p.steps { // the launcher numbers them so
		if step.Op == launcher.OpCache {
			s.caches = append(s.caches, step.Data)
		}
	}
	return p, nil
}

func (p *places) add(op, from, to, data string) {
	p.steps = append(p.steps, launcher.Step{Op: op, From: from, To: to, Data: data})
}

// outermost are the directories that exist, without links and those within another of them.
func outermost(dirs []string) ([]string, error) {
	var list []string
	for _, dir := range dirs {
		real, err := filepath.EvalSymlinks(dir)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, real)
	}
	slices.Sort(list)
	list = slices.Compact(list)
	return slices.DeleteFunc(slices.Clone(list), func(dir string) bool {
		return slices.ContainsFunc(list, func(other string) bool { return other != dir && within(dir, []string{other}) })
	}), nil
}

// within reports whether a path is one of the directories or lies below one.
func within(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return names.Within(dir, path) })
}

// systemSteps show the system's own directories, and the links that lead to them.
func (p *places) systemSteps() {
	for _, dir := range append([]string{"/home", "/tmp", "/var/run", "/var/lock"}, system...) {
		target, err := os.Readlink(dir)
		if err == nil {
			p.add(launcher.OpLink, target, dir, "")
			continue
		}
		if info, err := os.Stat(dir); err == nil && info.IsDir() && slices.Contains(system, dir) {
			p.add(launcher.OpRead, dir, dir, "")
		}
	}
}

// naming are the files by which programs find the addresses of hosts, where links of /etc lead to them from directories
// that commands see to one that they do not see: /run/systemd/resolve, /run/NetworkManager, /mnt/wsl.
func naming() (files []string) {
	for _, file := range []string{resolvers, "/etc/hosts", "/etc/nsswitch.conf", "/etc/host.conf", "/etc/gai.conf"} {
		real, err := filepath.EvalSymlinks(file)
		if err == nil && !within(real, system) {
			files = append(files, real)
		}
	}
	return files
}

// deviceSteps make /proc and a small /dev.
func (p *places) deviceSteps(ownProc bool) {
	proc := "/proc"
	if ownProc {
		proc = ""
	}
	p.add(launcher.OpProc, proc, "/proc", "")
	p.add(launcher.OpTemp, "", "/dev", "mode=755,size=1m")
	for _, device := range []string{"null", "zero", "full", "random", "urandom"} {
		p.add(launcher.OpDevice, "/dev/"+device, "/dev/"+device, "")
	}
	for name, target := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0",
		"stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx"} {
		p.add(launcher.OpLink, target, "/dev/"+name, "")
	}
	p.add(launcher.OpTerminal, "", "/dev/pts", "newinstance,ptmxmode=0666,mode=620")
	p.add(launcher.OpTemp, "", "/dev/shm", "mode=1777,size=1g,nr_inodes=256k")
}

// tempSteps make the temporary directories and an empty home.
func (p *places) tempSteps(config Config) error {
	for name, dir := range map[string]string{"tmp": "/tmp", "var-tmp": "/var/tmp"} {
		own := filepath.Join(config.Temp, name)
		if err := os.MkdirAll(own, 0o700); err != nil {
			return err
		}
		p.add(launcher.OpWrite, own, dir, "")
	}
	if config.Home == "" || config.Home == "/" {
		return nil
	}
	p.home = names.Real(config.Home)
	p.add(launcher.OpDir, "", p.home, "")
	p.linkSteps(config.Home)
	return nil
}

// linkSteps show the links by which a path leads to what it names, where nothing shows them yet.
func (p *places) linkSteps(path string) {
	for ; path != "/" && path != "."; path = filepath.Dir(path) {
		to, at := names.Real(path), filepath.Join(names.Real(filepath.Dir(path)), filepath.Base(path))
		shown := func(s launcher.Step) bool { return s.To == at }
		if to != at && !within(at, system) && !slices.ContainsFunc(p.steps, shown) {
			p.add(launcher.OpLink, to, at, "")
		}
	}
}

// grants are the paths Landlock grants besides the project. Caches are artoo's alone.
func (s *Sandbox) grants(p *places) error {
	p.granted = slices.Concat(system, []string{"/proc"}, p.read)
	if s.config.Network {
		p.granted = append(p.granted, naming()...)
	}
	temp := filepath.Join(s.config.Temp, "tmp")
	if err := os.MkdirAll(temp, 0o700); err != nil {
		return err
	}
	p.scratch, p.environ = []string{temp}, []string{"TMPDIR=" + temp}
	for _, cache := range s.config.Caches {
		own, err := s.ownCache(cache)
		if err != nil {
			return fmt.Errorf("cache %s: %w", cache.Path, err)
		}
		if cache.Env != "" {
			upper := filepath.Join(own, "upper")
			p.scratch = append(p.scratch, upper)
			p.environ = append(p.environ, cache.Env+"="+upper)
		}
	}
	return nil
}
