package doctor

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"artoo/tool/text"
)

func checkConfig(_ context.Context, w *Probes) []Finding {
	const topic = "config"
	if w.ConfigErr != nil {
		return []Finding{failure(topic, w.ConfigErr)}
	}
	text := "no config file, and none is needed"
	if w.ConfigFile != "" {
		text = w.ConfigFile
	}
	found := []Finding{ok(topic, "%s", text)}
	for _, line := range w.Warnings {
		found = append(found, warn(topic, "fix the setting that it names", "%s", line))
	}
	return found
}

// Place is a file or directory that artoo wrote, or would write to.
type Place struct {
	Path   string `json:"path"`   // absolute
	What   string `json:"what"`   // "sessions, history", a few words
	Exists bool   `json:"exists"` // false: nothing was written there yet
	Files  int    `json:"files"`  // counts subdirectories
	Bytes  int64  `json:"bytes"`
	Left   bool   `json:"left"` // by another run, which may still go on
	Err    error  `json:"-"`    // it cannot be written, or looked at
}

func checkFiles(_ context.Context, w *Probes) []Finding {
	const topic = "files"
	var found []Finding
	var left Place
	for _, p := range w.Places {
		switch {
		case p.Left:
			left.Path, left.Files, left.Bytes = filepath.Dir(p.Path), left.Files+p.Files, left.Bytes+p.Bytes
		case p.Err != nil:
			found = append(found, fail(topic, "check the owner and mode of "+p.Path, "%s (%s): %v", p.Path, p.What, p.Err))
		case p.Exists:
			found = append(found, ok(topic, "%s: %s, %s", p.Path, p.What, p.Size()))
		}
	}
	if left.Path != "" {
		found = append(found, ok(topic, "%s: left by earlier runs: %s (artoo doctor --paths lists them)", left.Path,
			left.Size()))
	}
	if found == nil {
		found = []Finding{ok(topic, "nothing is written yet")}
	}
	return found
}

// Size is how much is there, for people.
func (p Place) Size() string {
	return text.Count(p.Files, "file") + ", " + text.Bytes(p.Bytes)
}

// Keys are the places that hold a provider's key, the one that counts first.
type Keys struct {
	Provider string
	Places   []string
	Err      error // a place that cannot be used
}

func checkKeys(_ context.Context, w *Probes) []Finding {
	const topic = "keys"
	if w.ConfigErr != nil {
		return nil
	}
	var found []Finding
	var said []string // one file that cannot be read is many providers' trouble
	for _, k := range w.Keys {
		switch {
		case k.Err != nil && slices.Contains(said, k.Err.Error()):
		case k.Err != nil:
			said = append(said, k.Err.Error())
			found = append(found, failure(topic, k.Err))
		case len(k.Places) > 1:
			found = append(found, ok(topic, "%s: from %s, which comes before %s", k.Provider, k.Places[0],
				strings.Join(k.Places[1:], ", ")))
		case len(k.Places) == 1:
			found = append(found, ok(topic, "%s: from %s", k.Provider, k.Places[0]))
		}
	}
	if found == nil {
		found = []Finding{ok(topic, "none is set")}
	}
	return found
}

// checkProxy looks at the variables net/http takes proxies from.
func checkProxy(_ context.Context, w *Probes) []Finding {
	const topic = "proxy"
	var found []Finding
	for _, name := range []string{"HTTPS_PROXY", "HTTP_PROXY"} {
		name, text := either(name)
		if text == "" {
			continue
		}
		u, err := url.Parse(text)
		if err == nil && u.Host == "" {
			u, err = url.Parse("http://" + text)
		}
		if err != nil || u.Hostname() == "" || !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme) {
			// Its text may hold a password: it is not shown.
			found = append(found, fail(topic, name+"=http://host:port", "%s is no address of a proxy", name))
			continue
		}
		with := ""
		if u.User != nil {
			with = ", with a user and password"
		}
		found = append(found, ok(topic, "%s: %s%s", name, u.Host, with))
	}
	if found == nil {
		found = append(found, ok(topic, "none"))
	} else if name, text := either("NO_PROXY"); text != "" {
		found = append(found, ok(topic, "%s: not for %s", name, text))
	}
	if w.Offline {
		found = append(found,
			ok("offline", "ARTOO_OFFLINE is set: only what is on this machine or network is connected to"))
	}
	return found
}

// either is a variable in capitals or, if that is empty, in small letters.
func either(name string) (spelling, text string) {
	if text := os.Getenv(name); text != "" {
		return name, text
	}
	name = strings.ToLower(name)
	return name, os.Getenv(name)
}

// checkCertificates looks at the files that say whom to trust.
func checkCertificates(_ context.Context, w *Probes) []Finding {
	const topic = "certificates"
	var found []Finding
	if w.HTTPErr != nil {
		found = append(found, failure(topic, w.HTTPErr))
	} else if w.CAFile != "" {
		found = append(found, ok(topic, "ARTOO_CA_FILE: those of %s are trusted too", w.CAFile))
	}
	if path := os.Getenv("SSL_CERT_FILE"); path != "" {
		if f, err := os.Open(path); err != nil {
			found = append(found, fail(topic, "unset SSL_CERT_FILE, or name a file of certificates",
				"SSL_CERT_FILE: %v", err))
		} else {
			_ = f.Close() // it was only read
			found = append(found, ok(topic, "SSL_CERT_FILE: %s in place of the system's", path))
		}
	}
	return found
}
