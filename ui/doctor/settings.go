package doctor

import (
	"cmp"
	"context"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"artoo/tool/text"
)

// CheckConfig looks at the settings. file is "" where there is none; err says that they
// cannot be used.
func CheckConfig(file string, warnings []string, err error) Check {
	const topic = "config"
	if err != nil {
		return found(failure(topic, err))
	}
	all := []Finding{ok(topic, "%s", cmp.Or(file, "no config file, and none is needed"))}
	for _, line := range warnings {
		all = append(all, warn(topic, "fix the setting that it names", "%s", line))
	}
	return found(all...)
}

// Place is a file or directory that artoo wrote, or would write to.
type Place struct {
	Path   string `json:"path"`   // absolute
	What   string `json:"what"`   // "sessions, history", a few words
	Exists bool   `json:"exists"` // false: nothing was written there yet
	Files  int    `json:"files"`  // counts subdirectories
	Bytes  int64  `json:"bytes"`
	Left   bool   `json:"left"` // another run made it, and may still go on
	Err    error  `json:"-"`    // it cannot be written, or looked at
}

// CheckFiles looks at the places that artoo writes to.
func CheckFiles(places []Place) Check {
	const topic = "files"
	var all []Finding
	var left Place
	for _, p := range places {
		switch {
		case p.Left:
			left.Path, left.Files, left.Bytes = filepath.Dir(p.Path), left.Files+p.Files, left.Bytes+p.Bytes
		case p.Err != nil:
			all = append(all, fail(topic, "check the owner and mode of "+p.Path, "%s (%s): %v", p.Path, p.What, p.Err))
		case p.Exists:
			all = append(all, ok(topic, "%s: %s, %s", p.Path, p.What, p.Size()))
		}
	}
	if left.Path != "" {
		all = append(all, ok(topic, "%s: left by earlier runs: %s (artoo doctor --paths lists them)", left.Path,
			left.Size()))
	}
	if all == nil {
		all = []Finding{ok(topic, "nothing is written yet")}
	}
	return found(all...)
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

// CheckKeys looks at the keys of each provider.
func CheckKeys(keys []Keys) Check {
	const topic = "keys"
	var all []Finding
	var said []string // one file that cannot be read is many providers' trouble
	for _, k := range keys {
		switch {
		case k.Err != nil && slices.Contains(said, k.Err.Error()):
		case k.Err != nil:
			said = append(said, k.Err.Error())
			all = append(all, failure(topic, k.Err))
		case len(k.Places) > 1:
			all = append(all, ok(topic, "%s: from %s, which comes before %s", k.Provider, k.Places[0],
				strings.Join(k.Places[1:], ", ")))
		case len(k.Places) == 1:
			all = append(all, ok(topic, "%s: from %s", k.Provider, k.Places[0]))
		}
	}
	if all == nil {
		all = []Finding{ok(topic, "none is set")}
	}
	return found(all...)
}

// CheckProxy looks at the variables net/http takes proxies from; offline is ARTOO_OFFLINE.
func CheckProxy(offline bool) Check {
	return func(context.Context) []Finding {
		const topic = "proxy"
		var all []Finding
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
				all = append(all, fail(topic, name+"=http://host:port", "%s is no address of a proxy", name))
				continue
			}
			with := ""
			if u.User != nil {
				with = ", with a user and password"
			}
			all = append(all, ok(topic, "%s: %s%s", name, u.Host, with))
		}
		if all == nil {
			all = append(all, ok(topic, "none"))
		} else if name, text := either("NO_PROXY"); text != "" {
			all = append(all, ok(topic, "%s: not for %s", name, text))
		}
		if offline {
			all = append(all,
				ok("offline", "ARTOO_OFFLINE is set: only what is on this machine or network is connected to"))
		}
		return all
	}
}

// either is a variable in capitals or, if that is empty, in small letters.
func either(name string) (spelling, text string) {
	if text := os.Getenv(name); text != "" {
		return name, text
	}
	name = strings.ToLower(name)
	return name, os.Getenv(name)
}

// CheckCertificates looks at the files that say whom to trust: caFile is ARTOO_CA_FILE, and
// err says why there is no HTTP client.
func CheckCertificates(caFile string, err error) Check {
	return func(context.Context) []Finding {
		const topic = "certificates"
		var all []Finding
		if err != nil {
			all = append(all, failure(topic, err))
		} else if caFile != "" {
			all = append(all, ok(topic, "ARTOO_CA_FILE: those of %s are trusted too", caFile))
		}
		if path := os.Getenv("SSL_CERT_FILE"); path != "" {
			if f, err := os.Open(path); err != nil {
				all = append(all, fail(topic, "unset SSL_CERT_FILE, or name a file of certificates",
					"SSL_CERT_FILE: %v", err))
			} else {
				_ = f.Close() // it was only read
				all = append(all, ok(topic, "SSL_CERT_FILE: %s in place of the system's", path))
			}
		}
		return all
	}
}
