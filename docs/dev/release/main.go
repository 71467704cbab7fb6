// Release adds to the archives and packages in dist the files that goreleaser does not make without an
// engine or a network: a parts list for each binary, an OCI image, a Homebrew formula, an install
// script, and the checksums of all. Equal binaries give equal bytes.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

//go:embed install.sh artoo.rb
var templates embed.FS

// release is one release in a directory.
type release struct {
	Dir     string
	Version string // 1.2.3, without a v
	URL     string // the address under which the files are published
	Signer  string // the publisher's public key as ssh-keygen writes it; "" for a release without signature
	Time    time.Time
	Sums    map[string]string   // SHA-256 in hex by file name
	Modules map[string]licensed // what the binaries contain, by path
}

func main() {
	var r release
	seconds := flag.Int64("time", 0, "seconds since 1970 that everything made here is dated")
	flag.StringVar(&r.Dir, "dist", "dist", "where goreleaser left its files")
	flag.StringVar(&r.Version, "version", "", "version, without a v")
	flag.StringVar(&r.URL, "url", "", "address under which the files are published")
	flag.StringVar(&r.Signer, "signer", "", "public key that verifies the checksums")
	onlyLicenses := flag.String("licenses", "", "write only the licences of all modules, into this file")
	flag.Parse()
	r.Time = time.Unix(*seconds, 0).UTC()
	var err error
	if r.Modules, err = linked("../../.."); err == nil && *onlyLicenses != "" {
		err = os.WriteFile(*onlyLicenses, notices(r.Modules), 0o644)
	} else if err == nil {
		err = r.pack()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// pack writes all files, the checksums last.
func (r *release) pack() error {
	for _, platform := range platforms {
		file, err := r.binary(platform)
		if err != nil {
			return err
		}
		if err := r.parts(platform, file); err != nil {
			return fmt.Errorf("parts of %s: %w", platform, err)
		}
	}
	if err := r.image("amd64", "arm64"); err != nil {
		return fmt.Errorf("image: %w", err)
	}
	if err := r.checksums(); err != nil {
		return err
	}
	for _, name := range []string{"artoo.rb", "install.sh"} {
		if err := r.fill(name); err != nil {
			return err
		}
	}
	return r.checksums()
}

// binary is the program that goreleaser built for a platform; it keeps one directory for each.
func (r *release) binary(platform string) (string, error) {
	files, err := filepath.Glob(filepath.Join(r.Dir, "artoo_"+platform+"*", "artoo"))
	if err == nil && len(files) != 1 {
		err = fmt.Errorf("%d binaries for %s in %s, want 1", len(files), platform, r.Dir)
	}
	return strings.Join(files, ""), err
}

// write makes a file of the release.
func (r *release) write(name string, data []byte) error {
	return os.WriteFile(filepath.Join(r.Dir, name), data, 0o644)
}

// checksums writes checksums.txt over all that is published.
func (r *release) checksums() error {
	files, err := filepath.Glob(filepath.Join(r.Dir, "artoo_*.*"))
	if err != nil {
		return err
	}
	r.Sums = map[string]string{}
	var list bytes.Buffer
	for _, file := range append(files, filepath.Join(r.Dir, "artoo.rb"), filepath.Join(r.Dir, "install.sh")) {
		data, err := os.ReadFile(file)
		if info, statErr := os.Stat(file); errors.Is(err, os.ErrNotExist) || statErr == nil && info.IsDir() {
			continue
		}
		if err != nil {
			return err
		}
		name := filepath.Base(file)
		r.Sums[name] = sum(data)
		fmt.Fprintf(&list, "%s  %s\n", r.Sums[name], name)
	}
	return r.write("checksums.txt", list.Bytes())
}

// fill writes a template. A missing checksum is an error.
func (r *release) fill(name string) error {
	t, err := template.New(name).Delims("{{{", "}}}").Funcs(template.FuncMap{"sum": func(suffix string) (string, error) {
		file := "artoo_" + r.Version + "_" + suffix
		if r.Sums[file] == "" {
			return "", fmt.Errorf("%s is not in %s", file, r.Dir)
		}
		return r.Sums[file], nil
	}}).ParseFS(templates, name)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := t.Execute(&out, r); err != nil {
		return err
	}
	return r.write(name, out.Bytes())
}

// object is a JSON object; its keys are written in order.
type object map[string]any

// parts writes the CycloneDX list of the modules in a binary, from its build information.
func (r *release) parts(platform, file string) error {
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	components := []object{r.component("std", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c := r.component(m.Path, m.Version)
		if h, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:")); err == nil && len(h) == sha256.Size {
			c["hashes"] = []object{{"alg": "SHA-256", "content": hex.EncodeToString(h)}}
		}
		components = append(components, c)
	}
	out, err := json.MarshalIndent(object{
		"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
		"metadata": object{"timestamp": r.Time.Format(time.RFC3339), "component": object{
			"type": "application", "name": "artoo", "version": r.Version, "bom-ref": "artoo", "description": strings.ReplaceAll(platform, "_", "/"),
			"hashes": []object{{"alg": "SHA-256", "content": sum(data)}}, "licenses": []object{{"license": object{"id": "MIT"}}},
		}},
		"components": components,
	}, "", "  ")
	if err != nil {
		return err
	}
	return r.write("artoo_"+r.Version+"_"+platform+".cdx.json", append(out, '\n'))
}

// component is a Go module in a parts list.
func (r *release) component(path, version string) object {
	purl := "pkg:golang/" + path + "@" + version
	return object{"type": "library", "name": path, "version": version, "purl": purl, "bom-ref": purl,
		"licenses": []object{{"expression": r.Modules[path].expression()}}}
}

// sum is the SHA-256 of data in hex.
func sum(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }

// The media types of an image's pieces.
const (
	typeIndex    = "application/vnd.oci.image.index.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// image writes an OCI archive that holds the image for each architecture of Linux.
func (r *release) image(architectures ...string) error {
	var file bytes.Buffer
	archive := r.tar(&file)
	archive.dir("blobs/", 0o755, 0)
	archive.dir("blobs/sha256/", 0o755, 0)
	blob := func(mediaType string, data []byte) object {
		archive.file("blobs/sha256/"+sum(data), 0o644, data)
		return object{"mediaType": mediaType, "digest": "sha256:" + sum(data), "size": len(data)}
	}
	labels := object{"org.opencontainers.image.title": "artoo", "org.opencontainers.image.version": r.Version,
		"org.opencontainers.image.licenses": "MIT"}
	var manifests []object
	for _, architecture := range architectures {
		layer, err := r.layer(architecture)
		if err != nil {
			return err
		}
		var packed bytes.Buffer
		zip := gzip.NewWriter(&packed)
		if _, err := zip.Write(layer); err != nil {
			return err
		}
		if err := zip.Close(); err != nil {
			return err
		}
		config := encode(object{
			"architecture": architecture, "os": "linux", "created": r.Time.Format(time.RFC3339),
			"config": object{
				"User": user, "Env": []string{"PATH=/usr/local/bin", "HOME=" + home}, "WorkingDir": "/work",
				"Entrypoint": []string{"/usr/local/bin/artoo"}, "Labels": labels,
			},
			"rootfs":  object{"type": "layers", "diff_ids": []string{"sha256:" + sum(layer)}},
			"history": []object{{"created": r.Time.Format(time.RFC3339), "created_by": "make release"}},
		})
		m := blob(typeManifest, encode(object{
			"schemaVersion": 2, "mediaType": typeManifest, "config": blob(typeConfig, config),
			"layers": []object{blob(typeLayer, packed.Bytes())}, "annotations": labels,
		}))
		m["platform"] = object{"architecture": architecture, "os": "linux"}
		manifests = append(manifests, m)
	}
	index := blob(typeIndex, encode(object{"schemaVersion": 2, "mediaType": typeIndex, "manifests": manifests}))
	index["annotations"] = object{"org.opencontainers.image.ref.name": r.Version}
	archive.file("index.json", 0o644, encode(object{"schemaVersion": 2, "mediaType": typeIndex, "manifests": []object{index}}))
	archive.file("oci-layout", 0o644, encode(object{"imageLayoutVersion": "1.0.0"}))
	if err := archive.close(); err != nil {
		return err
	}
	return r.write("artoo_"+r.Version+"_image.tar", file.Bytes())
}

// The image's user is nobody on the host, and has a home that any other user of the
// container may write to as well.
const (
	uid  = 65532
	user = "65532:65532"
	home = "/home/artoo"
)

// layer is all that the image has: the program, the certificates, a user and places to write.
func (r *release) layer(architecture string) ([]byte, error) {
	path, err := r.binary("linux_" + architecture)
	if err != nil {
		return nil, err
	}
	program, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var certificates bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue // It is trusted for some certificates only, which a file cannot say.
		}
		if err := pem.Encode(&certificates, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	var out bytes.Buffer
	t := r.tar(&out)
	for _, dir := range []string{"etc/", "etc/ssl/", "etc/ssl/certs/", "home/"} {
		t.dir(dir, 0o755, 0)
	}
	t.file("etc/group", 0o644, []byte("artoo:x:65532:\n"))
	t.file("etc/passwd", 0o644, []byte("artoo:x:65532:65532::"+home+":/nonexistent\n"))
	t.file("etc/ssl/certs/ca-certificates.crt", 0o644, certificates.Bytes())
	t.dir(home[1:]+"/", 0o1777, uid)
	t.dir("tmp/", 0o1777, 0)
	for _, dir := range []string{"usr/", "usr/local/", "usr/local/bin/", "usr/local/share/", "usr/local/share/doc/", "usr/local/share/doc/artoo/"} {
		t.dir(dir, 0o755, 0)
	}
	t.file("usr/local/bin/artoo", 0o755, program)
	t.file("usr/local/share/doc/artoo/THIRD-PARTY-LICENSES", 0o644, notices(r.Modules))
	t.dir("work/", 0o755, uid)
	return out.Bytes(), t.close()
}

// encode is the JSON of an object, which always has one.
func encode(o object) []byte {
	data, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return data
}

// archive writes a tar whose entries are dated alike. close has its first error.
type archive struct {
	w    *tar.Writer
	time time.Time
	err  error
}

func (r *release) tar(w io.Writer) *archive { return &archive{w: tar.NewWriter(w), time: r.Time} }

func (a *archive) add(h *tar.Header, data []byte) {
	h.ModTime, h.Format = a.time, tar.FormatUSTAR
	if a.err == nil {
		a.err = a.w.WriteHeader(h)
	}
	if a.err == nil {
		_, a.err = a.w.Write(data)
	}
}

func (a *archive) dir(name string, mode int64, owner int) {
	a.add(&tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: mode, Uid: owner, Gid: owner}, nil)
}

func (a *archive) file(name string, mode int64, data []byte) {
	a.add(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(data))}, data)
}

func (a *archive) close() error {
	if a.err != nil {
		return a.err
	}
	return a.w.Close()
}
