package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha1"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// sandbox is a directory with two clones of the repository and the releases built from them.
type sandbox struct {
	dir     string
	version string
	site    string // the first release, as it would be published
}

// run runs a program and returns its output; an exit code other than 0 is an error.
func (s sandbox) run(t *testing.T, dir string, env []string, name string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// must is run for a program that may not fail.
func (s sandbox) must(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	out, err := s.run(t, dir, nil, name, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return out
}

// file is one of the release's files for this machine's architecture.
func (s sandbox) file(suffix string) string {
	return filepath.Join(s.site, "artoo_"+s.version+"_linux_"+runtime.GOARCH+suffix)
}

// TestRelease builds a signed release in two places and installs, uses and removes its packages.
// It needs root and the tools that make test-release names.
func TestRelease(t *testing.T) {
	s := sandbox{dir: t.TempDir()}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	s.site = filepath.Join(s.dir, "site")
	key := filepath.Join(s.dir, "key")
	s.must(t, s.dir, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", key)
	clones := []string{filepath.Join(s.dir, "a"), filepath.Join(s.dir, "elsewhere", "and deeper", "b")}
	for _, clone := range clones { // All at once, so that a commit made meanwhile is in none of them.
		s.must(t, s.dir, "git", "clone", "-q", root, clone)
	}
	for _, clone := range clones {
		s.must(t, clone, "sh", "-c", `mkdir .tools && ln -s "$0" .tools/goreleaser`, filepath.Join(root, ".tools", "goreleaser"))
		s.version = strings.TrimSpace(s.must(t, clone, "sh", "-c", `sed -n 's/^## \([0-9][^ ]*\).*/\1/p' CHANGELOG.md | head -1`))
		args := []string{"release", "KEY=" + key, "URL=file://" + s.site, "PUBLISHER=A Publisher <a@publisher.test>"}
		if out, err := s.run(t, clone, nil, "make", args...); err == nil || !strings.Contains(out, "git tag v"+s.version) {
			t.Fatalf("a commit without a tag is signed: %v\n%s", err, out)
		}
		s.must(t, clone, "git", "tag", "v"+s.version)
		s.must(t, clone, "make", args...)
	}
	s.must(t, s.dir, "cp", "-r", filepath.Join(clones[0], "dist"), s.site)
	t.Run("same bytes", func(t *testing.T) { s.sameBytes(t, clones) })
	t.Run("flags", func(t *testing.T) { s.flags(t, clones[0]) })
	t.Run("licences", s.licences)
	t.Run("install script", s.script)
	t.Run("deb", func(t *testing.T) {
		s.packaged(t, "var/lib/dpkg/info var/lib/dpkg/updates",
			[]string{"dpkg", "--root=ROOT", "--force-not-root", "-i", s.file(".deb")}, []string{"dpkg", "--root=ROOT", "--purge", "artoo"})
	})
	t.Run("rpm", func(t *testing.T) {
		s.packaged(t, "var/lib/rpm", []string{"rpm", "--root=ROOT", "-i", "--nosignature", s.file(".rpm")}, []string{"rpm", "--root=ROOT", "-e", "artoo"})
	})
	t.Run("apk", s.apk)
	t.Run("image", s.image)
}

// sameBytes compares everything that is published.
func (s sandbox) sameBytes(t *testing.T, clones []string) {
	files := s.published(t, filepath.Join(clones[0], "dist"))
	if len(files) < 18 {
		t.Errorf("only these are published: %v", files)
	}
	for _, name := range files {
		a, errA := os.ReadFile(filepath.Join(clones[0], "dist", name))
		b, errB := os.ReadFile(filepath.Join(clones[1], "dist", name))
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs: %v, %v", name, errA, errB)
		}
		if bytes.Contains(a, []byte(clones[0])) {
			t.Errorf("%s contains the path it was built in", name)
		}
	}
}

// published are the names in checksums.txt, that file and its signature.
func (s sandbox) published(t *testing.T, dist string) []string {
	data, err := os.ReadFile(filepath.Join(dist, "checksums.txt"))
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"checksums.txt", "checksums.txt.sig"}
	for line := range strings.Lines(string(data)) {
		names = append(names, strings.Fields(line)[1])
	}
	return names
}

// flags compares the program with the one that make build makes.
func (s sandbox) flags(t *testing.T, clone string) {
	built := s.must(t, clone, "sh", "-c", `cat dist/artoo_linux_`+runtime.GOARCH+`*/artoo | sha256sum`)
	// make release overrides the flags that the user keeps with go env; so does this.
	s.must(t, clone, "env", "GOENV=off", "GOFLAGS=", "make", "build", "VERSION=v"+s.version)
	if again := s.must(t, clone, "sh", "-c", "sha256sum <artoo"); again != built {
		t.Errorf("make build makes another program: %s, want %s", again, built)
	}
}

// licences looks for the licence of each part, and for the texts in the archive.
func (s sandbox) licences(t *testing.T) {
	var parts struct {
		Components []struct {
			Name     string
			Licenses []struct{ Expression string }
		}
	}
	data, err := os.ReadFile(s.file(".cdx.json"))
	if err == nil {
		err = json.Unmarshal(data, &parts)
	}
	if err != nil || len(parts.Components) < 50 {
		t.Fatalf("%d parts, %v", len(parts.Components), err)
	}
	texts := s.must(t, s.dir, "tar", "-xzOf", s.file(".tar.gz"), "share/doc/artoo/THIRD-PARTY-LICENSES")
	for _, c := range parts.Components {
		if len(c.Licenses) != 1 || c.Licenses[0].Expression == "" || !strings.Contains(texts, "\n"+c.Name) {
			t.Errorf("%s has no licence: %v", c.Name, c.Licenses)
		}
	}
}

// script installs with install.sh, and shows that it refuses tampered files.
func (s sandbox) script(t *testing.T) {
	install := func(site, prefix string) (string, error) {
		return s.run(t, s.dir, []string{"PREFIX=" + prefix, "ARTOO_URL=file://" + site}, "sh", filepath.Join(s.site, "install.sh"))
	}
	prefix := filepath.Join(t.TempDir(), "with a blank")
	for range 2 { // the second time over the first
		if out, err := install(s.site, prefix); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	var about struct{ Version string }
	if err := json.Unmarshal([]byte(s.must(t, s.dir, filepath.Join(prefix, "bin", "artoo"), "version", "--json")), &about); err != nil || about.Version != s.version {
		t.Errorf("artoo version --json has %+v, %v", about, err)
	}
	if out, err := install(s.site, "/dev/null"); err == nil || !strings.Contains(out, "/share/man/man1/artoo.1: cannot be written\n  try: set PREFIX") {
		t.Errorf("installs where nothing can be: %v\n%s", err, out)
	}
	archive := filepath.Base(s.file(".tar.gz"))
	for name, tamper := range map[string]string{
		"wrong checksum":              "echo x >>" + archive,
		"not signed by the publisher": "echo x >>" + archive + "; sha256sum " + archive + " >checksums.txt",
		"no line for":                 "sed -i /" + archive + "/d checksums.txt; rm checksums.txt.sig; ssh-keygen -q -Y sign -f ../key -n artoo checksums.txt",
	} {
		site, prefix := filepath.Join(s.dir, "tampered"), filepath.Join(t.TempDir(), "none")
		s.must(t, s.dir, "sh", "-c", "rm -rf tampered && cp -r site tampered && cd tampered && "+tamper)
		out, err := install(site, prefix)
		if _, there := os.Stat(prefix); err == nil || !strings.Contains(out, name) || there == nil {
			t.Errorf("%s: %v, installed %v\n%s", name, err, there == nil, out)
		}
	}
}

// packaged installs a package into an empty root, runs the program there, and removes the package.
func (s sandbox) packaged(t *testing.T, dirs string, install, remove []string) {
	root := t.TempDir()
	s.must(t, root, "sh", "-c", "mkdir -p etc "+dirs+" && if [ -d var/lib/dpkg ]; then touch var/lib/dpkg/status; fi")
	within := func(command []string) {
		for i := range command {
			command[i] = strings.Replace(command[i], "ROOT", root, 1)
		}
		s.must(t, root, command[0], command[1:]...)
	}
	within(install)
	s.used(t, root, "/usr/bin/artoo")
	within(remove)
	if left := artooFiles(t, root); len(left) != 0 {
		t.Errorf("left after the removal: %v", left)
	}
	if _, err := os.Stat(filepath.Join(root, "usr/share/doc/artoo")); err == nil {
		t.Error("the package's directory is left after the removal")
	}
}

// used runs an installed program in its root, and looks for its manual and completions.
func (s sandbox) used(t *testing.T, root, program string) {
	if out := s.must(t, root, "chroot", root, program, "--version"); out != "artoo "+s.version+"\n" {
		t.Errorf("artoo --version prints %q", out)
	}
	files := strings.Join(artooFiles(t, root), "\n")
	for _, name := range []string{"man/man1/artoo.1", "bash-completion/completions/artoo", "/_artoo", "vendor_completions.d/artoo.fish",
		"doc/artoo/THIRD-PARTY-LICENSES"} {
		if !strings.Contains(files, name) {
			t.Errorf("no %s among %s", name, files)
		}
	}
}

// artooFiles are the files below root, except those of the package's database.
func artooFiles(t *testing.T, root string) (files []string) {
	err := filepath.WalkDir(filepath.Join(root, "usr"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, strings.TrimPrefix(path, root))
		}
		if os.IsNotExist(err) {
			return nil
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// apkVersion matches the versions that apk takes.
var apkVersion = regexp.MustCompile(`^[0-9]+(\.[0-9]+)*(_(alpha|beta|pre|rc)[0-9]*)?(-r[0-9]+)?$`)

// apk checks the package as apk does, which Debian does not have: its version is one that apk takes, no script of
// it runs, its files have the hashes that apk compares, and belong to root. Then they are used.
func (s sandbox) apk(t *testing.T) {
	data, err := os.ReadFile(s.file(".apk"))
	if err != nil {
		t.Fatal(err)
	}
	// The description and the files are a tar each, packed by itself; the hash is that of the packed files.
	var parts [][]*tar.Header
	var hash string
	fields := map[string]string{}
	for left := bytes.NewReader(data); left.Len() > 0; {
		hash = sum(data[len(data)-left.Len():])
		unzip, err := gzip.NewReader(left)
		if err != nil {
			t.Fatal(err)
		}
		unzip.Multistream(false)
		var headers []*tar.Header
		for r := tar.NewReader(unzip); ; {
			h, err := r.Next()
			if err == io.EOF {
				break
			}
			content, errRead := io.ReadAll(r)
			if err = errors.Join(err, errRead); err != nil {
				t.Fatal(err)
			}
			headers = append(headers, h)
			if h.Name == ".PKGINFO" {
				for line := range strings.Lines(string(content)) {
					if name, value, ok := strings.Cut(strings.TrimSpace(line), " = "); ok {
						fields[name] = value
					}
				}
			} else if want := fmt.Sprintf("%x", sha1.Sum(content)); h.Typeflag == tar.TypeReg && h.PAXRecords["APK-TOOLS.checksum.SHA1"] != want {
				t.Errorf("%s has the hash %s, not %v", h.Name, want, h.PAXRecords)
			}
		}
		if _, err := io.Copy(io.Discard, unzip); err != nil { // up to the end of the part
			t.Fatal(err)
		}
		parts = append(parts, headers)
	}
	if len(parts) != 2 || len(parts[0]) != 1 || fields["datahash"] != hash {
		t.Fatalf("%d parts, the description %v, the files %s", len(parts), fields, hash)
	}
	if arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]; fields["pkgname"] != "artoo" || fields["arch"] != arch {
		t.Errorf("it describes itself as %v", fields)
	}
	if !apkVersion.MatchString(fields["pkgver"]) {
		t.Errorf("apk takes no version %q", fields["pkgver"])
	}
	for _, h := range parts[1] {
		mode := int64(0o644)
		if h.Typeflag == tar.TypeDir || h.Name == "usr/bin/artoo" {
			mode = 0o755
		}
		if !strings.HasPrefix(h.Name, "usr/") && h.Name != "usr" || h.Uid != 0 || h.Gid != 0 || h.Mode&0o7777 != mode {
			t.Errorf("%s belongs to %d:%d and has the mode %o", h.Name, h.Uid, h.Gid, h.Mode)
		}
	}
	root := t.TempDir()
	s.must(t, root, "tar", "-xzf", s.file(".apk"))
	s.used(t, root, "/usr/bin/artoo")
}

// image unpacks the image and has its program answer as the image's user.
func (s sandbox) image(t *testing.T) {
	dir := t.TempDir()
	archive := filepath.Join(s.site, "artoo_"+s.version+"_image.tar")
	for _, arch := range []string{"amd64", "arm64"} {
		s.must(t, dir, "skopeo", "--insecure-policy", "--override-arch", arch, "copy", "-q", "oci-archive:"+archive, "oci:"+dir+"/"+arch+":artoo")
	}
	s.must(t, dir, "umoci", "unpack", "--image", runtime.GOARCH+":artoo", "bundle")
	var config struct {
		Process struct {
			User struct{ UID int }
			Args []string
			Env  []string
			Cwd  string
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "bundle", "config.json"))
	if err == nil {
		err = json.Unmarshal(data, &config)
	}
	p := config.Process
	if err != nil || p.User.UID != uid || p.Cwd != "/work" || len(p.Args) != 1 || p.Args[0] != "/usr/local/bin/artoo" {
		t.Fatalf("%v, %s", err, data)
	}
	root := filepath.Join(dir, "bundle", "rootfs")
	if _, err := os.Stat(filepath.Join(root, "bin", "sh")); err == nil {
		t.Error("the image has a shell")
	}
	pem, err := os.ReadFile(filepath.Join(root, "etc/ssl/certs/ca-certificates.crt"))
	if n := bytes.Count(pem, []byte("BEGIN CERTIFICATE")); err != nil || n < 100 {
		t.Errorf("%d certificates, %v", n, err)
	}
	if text, err := os.ReadFile(filepath.Join(root, "usr/local/share/doc/artoo/THIRD-PARTY-LICENSES")); err != nil ||
		!bytes.Contains(text, []byte("\ngithub.com/chzyer/readline v")) {
		t.Errorf("the image has no licences: %v", err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"id":"1","choices":[{"index":0,"delta":{"role":"assistant","content":"Hello from the image."},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	defer server.Close()
	env := append(p.Env, "ARTOO_BASE_URL="+server.URL+"/v1", "ARTOO_MODEL=m")
	chroot, err := exec.LookPath("chroot") // env looks in the image's path
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []int{uid, 1000} { // the image's own user, and one that --user names
		args := append([]string{"-i"}, append(env, chroot, fmt.Sprintf("--userspec=%d:%d", id, id), root, p.Args[0], "-p", "hello")...)
		cmd := exec.Command("env", args...)
		cmd.Env = os.Environ()
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil || strings.TrimSpace(out.String()) != "Hello from the image." {
			t.Errorf("as user %d: %v: %s\n%s", id, err, out.String(), errs.String())
		}
	}
}
