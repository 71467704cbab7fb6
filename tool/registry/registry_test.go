package registry

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"artoo/tool/environ"
	"artoo/tool/needs"
	"artoo/tool/proxy"
	"artoo/tool/sweep"
)

// home makes a home directory with these files, and an empty directory, and returns the variables of its user.
func home(t *testing.T, files map[string]string) (own environ.Vars, home, empty string) {
	t.Helper()
	home, empty = t.TempDir(), t.TempDir()
	write(t, home, files)
	// Otherwise go leaves a process behind that counts in the home, also while the test removes it.
	write(t, home, map[string]string{".config/go/telemetry/mode": "off",
		"Library/Application Support/go/telemetry/mode": "off"})
	return environ.Vars{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "PWD=" + empty}, home, empty
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
}

// brief writes hosts as words, those of the user's own with a +.
func brief(hosts []proxy.Host) string {
	var words []string
	for _, host := range hosts {
		word := host.Name
		if host.Port != "" {
			word += ":" + host.Port
		}
		if host.Own {
			word += "+"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// example is a block of a file in testdata: its first line is the set and a name, then come lines "word: value", then
// files as in a txtar archive.
type example struct {
	set, name string
	says      map[string][]string
	files     map[string]string
}

func examples(t *testing.T, file string) (all []example) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range strings.Split("\n"+string(data), "\n== ")[1:] {
		archive := txtar.Parse([]byte(block))
		e := example{says: map[string][]string{}, files: map[string]string{}}
		first, rest, _ := strings.Cut(string(archive.Comment), "\n")
		e.set, e.name, _ = strings.Cut(first, " ")
		for line := range strings.Lines(rest) {
			word, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			e.says[word] = append(e.says[word], value)
		}
		for _, f := range archive.Files {
			e.files[f.Name] = string(f.Data)
		}
		all = append(all, e)
	}
	return all
}

func hasKey(url string) bool { return strings.Contains(url, "/key/") }

const (
	publicNPM    = "registry.npmjs.org registry.yarnpkg.com"
	publicPyPI   = "pypi.org files.pythonhosted.org"
	publicGo     = "proxy.golang.org sum.golang.org"
	publicCrates = "index.crates.io static.crates.io"
	publicGems   = "rubygems.org index.rubygems.org"
	publicMaven  = "repo.maven.apache.org repo1.maven.org plugins.gradle.org plugins-artifacts.gradle.org"
)

func TestWhereAnyUsersPackagesComeFrom(t *testing.T) {
	t.Parallel()
	needs.Programs(t, "npm", "go")
	for _, e := range sweep.Of(t, 20, examples(t, "places.txt")) {
		t.Run(e.set+"/"+strings.ReplaceAll(e.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			own, home, empty := home(t, e.files)
			for _, kv := range e.says["variable"] {
				own = append(own, strings.ReplaceAll(kv, "HOME/", home+"/"))
			}
			place, err := Of(t.Context(), e.set, own, empty, hasKey)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := brief(place.Hosts), strings.Join(e.says["hosts"], ""); got != want {
				t.Errorf("hosts:\n%s, want\n%s", got, want)
			}
			if want := strings.Join(e.says["key"], ""); place.Key != want {
				t.Errorf("key: %q, want %q", place.Key, want)
			}
			for _, want := range e.says["key of"] {
				host, file, _ := strings.Cut(want, " in ")
				if place.Keys[host] != file {
					t.Errorf("the keys are %v, want %s", place.Keys, want)
				}
			}
		})
	}
}

// What a project says joins no set, neither by its files nor by variables that name them.
func TestAProjectsFilesJoinNoSet(t *testing.T) {
	t.Parallel()
	needs.Programs(t, "npm", "go")
	own, _, empty := home(t, nil)
	project := t.TempDir()
	hostile := examples(t, "hostile.txt")[0]
	write(t, project, hostile.files)
	for _, kv := range hostile.says["variable"] {
		own = append(own, strings.ReplaceAll(kv, "PROJECT", project))
	}
	own = own.With("PWD", filepath.Join(project, "sub")).With("XDG_CONFIG_HOME", "")
	public := map[string]string{"npm": publicNPM, "pypi": publicPyPI, "go": publicGo, "crates": publicCrates,
		"rubygems": publicGems, "maven": publicMaven}
	for set, want := range public {
		place, err := Of(t.Context(), set, own, empty, hasKey)
		if got := brief(place.Hosts); got != want || err != nil {
			t.Errorf("%s: %q, %v", set, got, err)
		}
	}
}

// A directory above dir may belong to anyone, as /tmp does.
func TestNPMLooksForNoProjectAbove(t *testing.T) {
	t.Parallel()
	needs.Programs(t, "npm")
	own, _, above := home(t, nil)
	write(t, above, map[string]string{
		"package.json": "{}", ".npmrc": "registry=https://evil.example/\n", "below/x": ""})
	place, err := Of(t.Context(), "npm", own, filepath.Join(above, "below"), hasKey)
	if got := brief(place.Hosts); got != publicNPM || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestTheHomeIsNoProject(t *testing.T) {
	t.Parallel()
	own, home, empty := home(t, map[string]string{
		".git/HEAD": "x", "x/pip.conf": "[global]\nindex-url=https://a.example/\n", "dir/y": ""})
	own = append(own, "PIP_CONFIG_FILE="+home+"/x/pip.conf")
	for _, dir := range []string{home, filepath.Dir(home), "/", filepath.Join(home, "dir")} {
		place, err := Of(t.Context(), "pypi", own.With("PWD", dir), empty, hasKey)
		if got := brief(place.Hosts); got != "a.example+" || err != nil {
			t.Errorf("%s: %q, %v", dir, got, err)
		}
	}
}

func TestAnErrorNamesTheProgramThatFailed(t *testing.T) {
	t.Parallel()
	own, home, empty := home(t, map[string]string{
		"npm": "#!/bin/sh\necho broken >&2\nexit 3\n", "go": "#!/bin/sh\nexec sleep 60\n", ".cargo/config.toml": "x"})
	own = own.With("PATH", home+":/usr/bin:/bin")
	for set, want := range map[string]string{"npm": "npm --global config list: exit status 3 (broken)",
		"crates": "~/.cargo/config.toml: ", "nuget": `unknown set "nuget": `} {
		if _, err := Of(t.Context(), set, own, empty, hasKey); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := Of(ctx, "go", own, empty, hasKey)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), "go env") {
		t.Errorf("%v", err)
	}
}

func TestTheTableOfPublicHosts(t *testing.T) {
	t.Parallel()
	for line := range strings.Lines(hostsFile) {
		row := strings.Fields(line)
		if len(row) > 0 && row[0] != "#" && (len(row) < 2 || !slices.Contains(Sets(), row[0])) {
			t.Errorf("%q is no row of a set", line)
		}
	}
	for _, set := range Sets() {
		rows := public(set)
		if len(rows) == 0 || asking[set] == nil {
			t.Errorf("%s: no registry", set)
		}
		for _, name := range slices.Concat(rows...) {
			if host, _ := hostOf("https://" + name); host.Name != name || !strings.Contains(name, ".") {
				t.Errorf("%s: %q is not a host", set, name)
			}
		}
	}
}

func TestAHostIsOneThatDNSCanHave(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://A.example.:443/x": "a.example", "http://a.example:80": "a.example",
		"https://a.example:80": "a.example:80", "http://[::1]:8080/": "::1:8080", "https://*.example/": "",
		"https://a.example\x1b[0m/": "", "https:///x": "",
		"https://пример.example/": "", "a.example": "", "https://..": "", "%": "",
	} {
		host, _ := hostOf(address)
		if got := strings.TrimSpace(brief([]proxy.Host{host})); got != want {
			t.Errorf("%q: %q, want %q", address, got, want)
		}
	}
}

// Each program asks a host that Of says, and no other. The server here answers nothing.
func TestAnyProgramAsksTheHostsThatOfSays(t *testing.T) {
	t.Parallel()
	for _, e := range sweep.Of(t, 3, examples(t, "programs.txt")) {
		command := strings.Fields(e.says["command"][0])
		t.Run(command[0], func(t *testing.T) {
			t.Parallel()
			needs.Programs(t, command[0])
			asked := make(chan string, 1000)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked <- r.Host
				http.NotFound(w, r)
			}))
			defer server.Close()
			host, _ := hostOf(server.URL)
			host.Own = true
			for name, content := range e.files {
				e.files[name] = strings.ReplaceAll(content, "SERVER", server.URL)
			}
			own, dir, empty := home(t, e.files)
			// Java takes the home from the system's list of users.
			own = append(own, "NO_PROXY=127.0.0.1", "MAVEN_OPTS=-Duser.home="+dir,
				"RUSTUP_HOME="+cmp.Or(os.Getenv("RUSTUP_HOME"), filepath.Join(os.Getenv("HOME"), ".rustup")))
			place, err := Of(t.Context(), e.set, own, empty, hasKey)
			if !slices.Contains(place.Hosts, host) || err != nil {
				t.Errorf("%v, %v, want %v", place.Hosts, err, host)
			}
			cmd := own.Command(t.Context(), command[0], command[1:]...)
			cmd.Dir = filepath.Join(dir, "project")
			out, err := cmd.CombinedOutput()
			if _, ok := errors.AsType[*exec.ExitError](err); !ok || len(asked) == 0 {
				t.Errorf("%v: %s", err, out)
			}
			for range len(asked) {
				if got := <-asked; got != host.String() {
					t.Errorf("asked %s", got)
				}
			}
			// In a home with the files alone that tell of it, it is asked, too.
			for name := range e.files {
				told := place.Files[filepath.Join(dir, name)]
				if strings.HasPrefix(name, "project/") || e.set == "go" {
					continue
				}
				if err := os.WriteFile(filepath.Join(dir, name), []byte(told), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			// Maven remembers what it did not find.
			if err := os.RemoveAll(filepath.Join(dir, ".m2/repository")); err != nil {
				t.Fatal(err)
			}
			cmd = own.Command(t.Context(), command[0], command[1:]...)
			cmd.Dir = filepath.Join(dir, "project")
			if out, err := cmd.CombinedOutput(); err == nil || len(asked) == 0 {
				t.Errorf("told alone: %v: %s", err, out)
			}
		})
	}
}
