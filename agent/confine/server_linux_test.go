package confine

import (
	"encoding/xml"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"artoo/tool/environ"
	"artoo/tool/needs"
	"artoo/tool/proxy"
	"artoo/tool/sandbox"
	"artoo/tool/shell"
)

// rust-analyzer has cargo check find most problems: that needs a place for its build, which is not the project's and is
// there again in the next session.
func TestALanguageServerBuildsBesideTheProject(t *testing.T) {
	t.Parallel()
	facts, ok := factsHere(t)
	if !ok {
		return
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	root, home := filepath.Join(base, "project"), filepath.Join(base, "home")
	put(t, filepath.Join(root, "Cargo.toml"), "")
	put(t, filepath.Join(home, ".profile"), "")
	line := `cd "$CARGO_TARGET_DIR" && cat last; echo built >>last; touch ` + root + "/x && echo written; cat last"
	for _, want := range []string{"built\n", "built\nbuilt\n"} {
		c := New(Config{Config: sandbox.Config{Root: root, Home: home}, Cache: filepath.Join(base, "cache"), Servers: true}, facts)
		if end := runs(t, c.StartServer, line); !strings.HasSuffix(string(end.Output), want) || end.Exit.Code != 0 {
			t.Errorf("%+v: %s", end, end.Output)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	left, err := os.ReadDir(root)
	if _, at := os.Stat(filepath.Join(home, ".cache")); err != nil || len(left) != 1 || at == nil {
		t.Errorf("the project holds %v (%v), and the home's caches are %v", left, err, at)
	}
}

// A language server or hook whose program the sandbox does not show is named, with what shows it.
func TestAProgramThatIsOutOfSightIsNamed(t *testing.T) {
	t.Parallel()
	facts, ok := factsHere(t)
	if !ok || !facts.HidesFiles {
		return
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	home := filepath.Join(base, "home")
	program := filepath.Join(home, "tools", "serve")
	put(t, program, "#!/bin/sh\n")
	put(t, filepath.Join(base, "project", "a"), "")
	must(t, os.Chmod(program, 0o755))
	c := New(Config{Config: sandbox.Config{Root: filepath.Join(base, "project"), Home: home}}, facts)
	defer c.Close()
	for _, start := range []shell.Start{c.StartServer, func(cmd *exec.Cmd) (shell.Started, error) {
		return c.Start(cmd, Line{Place: sandbox.PlaceLayer, Exec: true})
	}} {
		cmd := exec.Command(program)
		cmd.Dir = filepath.Join(base, "project")
		if _, err := start(cmd); err == nil || !strings.Contains(err.Error(), "add "+filepath.Dir(program)+" to ") {
			t.Errorf("it starts: %v", err)
		}
	}
}

// A confined program trusts the certificates that the user's variables name, also where a link leads to them. A variable
// that names the home, or holds no certificates, shows nothing.
func TestConfinedProgramsReadTheCertificatesThatVariablesName(t *testing.T) {
	t.Parallel()
	facts, ok := factsHere(t)
	if !ok || !facts.HidesFiles {
		return
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	home := filepath.Join(base, "home")
	for _, name := range []string{"corp/real.pem", "certs/one.pem", ".ssh/key"} {
		put(t, filepath.Join(home, name), name+"\n")
	}
	put(t, filepath.Join(base, "project", "a"), "")
	must(t, os.Symlink(filepath.Join(home, "corp", "real.pem"), filepath.Join(home, "corp.pem")))
	environ := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "NODE_EXTRA_CA_CERTS=" + home + "/corp.pem",
		"SSL_CERT_DIR=" + home + "/certs:/etc/ssl/certs", "REQUESTS_CA_BUNDLE=" + home, "OTHER=" + home + "/.ssh/key"}
	c := New(Config{Config: sandbox.Config{Root: filepath.Join(base, "project"), Home: home}, Environ: environ}, facts)
	defer c.Close()
	mcp := func(cmd *exec.Cmd) (shell.Started, error) { return c.StartMCP(cmd, false, nil, nil) }
	for _, start := range []shell.Start{c.StartServer, mcp} {
		end := runs(t, func(cmd *exec.Cmd) (shell.Started, error) {
			cmd.Env, cmd.Dir = environ, filepath.Join(base, "project")
			return start(cmd)
		}, `cat "$NODE_EXTRA_CA_CERTS" "${SSL_CERT_DIR%%:*}/one.pem"; cat "$OTHER" || echo hidden`)
		if want := "corp/real.pem\ncerts/one.pem\n"; !strings.HasPrefix(string(end.Output), want) || !strings.HasSuffix(string(end.Output), "hidden\n") {
			t.Errorf("%s", end.Output)
		}
	}
}

// A file that is shown to confined commands replaces a link that one of them has put in its place.
func TestAFileForConfinedCommandsFollowsNoLink(t *testing.T) {
	t.Parallel()
	facts, ok := factsHere(t)
	if !ok {
		return
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	put(t, filepath.Join(base, "project", "a"), "")
	put(t, filepath.Join(base, "mine"), "mine")
	c := New(Config{Config: sandbox.Config{Root: filepath.Join(base, "project"), Home: filepath.Join(base, "home")}}, facts)
	defer c.Close()
	for _, text := range []string{"one", "two"} {
		at, err := c.Share("shown", []byte(text))
		must(t, err)
		end := runs(t, c.StartServer, "cat "+at+"; rm "+at+"; ln -s "+filepath.Join(base, "mine")+" "+at)
		if string(end.Output) != text {
			t.Errorf("%q, not %s", end.Output, text)
		}
	}
	if data, err := os.ReadFile(filepath.Join(base, "mine")); err != nil || string(data) != "mine" {
		t.Errorf("it holds %q, %v", data, err)
	}
}

// Root is a user like others: its commands read nothing of the system that only root, or a group, may read.
func TestCommandsOfRootReadNothingThatIsClosedToOthers(t *testing.T) {
	facts, ok := factsHere(t)
	if !ok {
		return
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	put(t, filepath.Join(base, "home", "a"), "")
	put(t, filepath.Join(base, "project", "a"), "")
	c := New(Config{Config: sandbox.Config{Root: filepath.Join(base, "project"), Home: filepath.Join(base, "home")}}, facts)
	defer c.Close()
	line := `find /etc -type f ! -perm -004 -size +0 -exec cat {} + 2>/dev/null; find /etc -type d ! -perm -005 -exec ls -A {} + 2>/dev/null | grep -v '^$\|:$'`
	if end := runs(t, c.StartServer, line); len(end.Output) > 0 {
		t.Errorf("they read %s", end.Output)
	}
}

func TestAPathIsClosedByWhatOthersMayDoWithIt(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"a": 0o644, "b": 0o640, "c/d": 0o600, "shown/e": 0o600} {
		put(t, filepath.Join(dir, name), "")
		must(t, os.Chmod(filepath.Join(dir, name), mode))
	}
	must(t, os.Chmod(filepath.Join(dir, "shown"), 0o755))
	must(t, os.Chmod(filepath.Join(dir, "c"), 0o750))
	must(t, os.Symlink("/nowhere", filepath.Join(dir, "link")))
	got := closedTo(dir, []string{filepath.Join(dir, "shown"), filepath.Dir(dir)})
	if want := []string{filepath.Join(dir, "b"), filepath.Join(dir, "c")}; !slices.Equal(got, want) {
		t.Errorf("closed are %q, not %q", got, want)
	}
}

func BenchmarkClosedTo(b *testing.B) {
	for b.Loop() {
		closedTo("/etc", nil)
	}
}

// A server with hosts of its own reaches these by the proxy, and nothing else; one without has the whole network.
func TestAServerReachesItsHostsAlone(t *testing.T) {
	t.Parallel()
	needs.Programs(t, "curl")
	facts, ok := factsHere(t)
	if !ok || !facts.Network {
		return
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	root := filepath.Join(base, "project")
	put(t, filepath.Join(root, "a"), "")
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "came\n") }))
	defer web.Close()
	name, port, err := net.SplitHostPort(web.Listener.Addr().String())
	must(t, err)
	way := proxy.New(proxy.Config{})
	defer way.Close()
	c := New(Config{Config: sandbox.Config{Root: root}, Proxy: way}, facts)
	defer c.Close()
	line := "curl -s " + web.URL + "; curl -s --noproxy '*' " + web.URL + " || echo not directly"
	for want, hosts := range map[string][]proxy.Host{
		"came\nnot directly\n": {{Name: name, Port: port, Own: true}}, "not directly\n": {}, "came\ncame\n": nil,
	} {
		start := func(cmd *exec.Cmd) (shell.Started, error) { return c.StartMCP(cmd, false, hosts, nil) }
		if end := runs(t, start, line); string(end.Output) != want {
			t.Errorf("with %v: %q, want %q", hosts, end.Output, want)
		}
	}
}

// A server with hosts sees the files that name its registries, on a layer or not, and none of the home's own.
func TestAServerSeesTheFilesThatNameItsRegistries(t *testing.T) {
	t.Parallel()
	facts, ok := factsHere(t)
	if !ok || !facts.Network {
		return
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	root, home := filepath.Join(base, "project"), filepath.Join(base, "home")
	put(t, filepath.Join(root, "a"), "")
	put(t, filepath.Join(home, ".npmrc"), "key\n")
	way := proxy.New(proxy.Config{})
	defer way.Close()
	c := New(Config{Config: sandbox.Config{Root: root, Home: home}, Proxy: way}, facts)
	defer c.Close()
	files := map[string]string{filepath.Join(home, ".npmrc"): "registry\n"}
	for _, onLayer := range []bool{false, facts.Layer} {
		start := func(cmd *exec.Cmd) (shell.Started, error) {
			return c.StartMCP(cmd, onLayer, []proxy.Host{{Name: "a"}}, files)
		}
		if end := runs(t, start, "cat "+home+"/.npmrc"); string(end.Output) != "registry\n" {
			t.Errorf("on a layer %v: it sees %q", onLayer, end.Output)
		}
	}
}

// The options that a user gives Java stay.
func TestTheProxyIsAddedToJavasOptions(t *testing.T) {
	t.Parallel()
	got := throughProxy(environ.Vars{"GRADLE_OPTS=-Xmx1g", "no_proxy=*", "https_proxy=http://other"},
		"http://artoo:x@127.0.0.1:5", nil)
	if opts := got.Get("GRADLE_OPTS"); !strings.HasPrefix(opts,
		"-Xmx1g -Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=5 ") ||
		got.Get("https_proxy") != "http://artoo:x@127.0.0.1:5" || got.Get("no_proxy") != "localhost,127.0.0.1,::1" {
		t.Errorf("%q", got)
	}
}

func TestMavensSettingsGetTheProxy(t *testing.T) {
	t.Parallel()
	const at = "/home/.m2/settings.xml"
	for _, own := range []string{"", "<settings><mirrors></mirrors></settings>"} {
		text := withMaven(map[string]string{at: own}, "/home", "http://artoo:x@127.0.0.1:5")[at]
		var settings struct {
			Proxies []struct {
				Host     string `xml:"host"`
				Password string `xml:"password"`
			} `xml:"proxies>proxy"`
		}
		if err := xml.Unmarshal([]byte(text), &settings); err != nil || len(settings.Proxies) != 2 ||
			settings.Proxies[0].Host != "127.0.0.1" || settings.Proxies[0].Password != "x" ||
			strings.Contains(text, "<mirrors>") != (own != "") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
