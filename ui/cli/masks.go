package cli

import (
	"slices"
	"strings"
	"sync"

	"artoo/config"
	"artoo/conversation"
	"artoo/provider/redact"
	"artoo/provider/telemetry"
	"artoo/tool"
	"artoo/tool/environ"
)

// keyMarks makes the marks of the present session. Safe for concurrent use.
type keyMarks struct {
	mu      sync.Mutex
	salt    redact.Salt
	session *conversation.Session // nil before there is one, and for none
	kept    bool                  // the salt is in its file
	used    bool
	lost    func(error) // called once when the salt cannot be kept
}

// begin takes the salt of a session that goes on, or else a new one; s may be nil.
func (m *keyMarks) begin(s *conversation.Session) error {
	salt, kept := redact.NewSalt(), false
	if s != nil {
		old, err := s.Salt()
		if err != nil {
			return err
		}
		if len(old) == len(salt) {
			salt, kept = redact.Salt(old), true
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.salt, m.kept, m.used, m.session = salt, kept, false, s
	return nil
}

// belong says whose marks these are from now on: a session that has just begun.
func (m *keyMarks) belong(s *conversation.Session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.session = s
	m.keep()
}

// keep writes the salt when a mark was made with it.
func (m *keyMarks) keep() {
	if m.kept || !m.used || m.session == nil || m.session.ReadOnly() {
		return
	}
	m.kept = true // once: a file that cannot be written now is no better the next time
	if err := m.session.KeepSalt(m.salt[:]); err != nil && m.lost != nil {
		m.lost(err)
	}
}

// use is the salt to make a mark with, which is kept from then on.
func (m *keyMarks) use() redact.Salt {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.salt == (redact.Salt{}) { // nothing has begun yet
		m.salt = redact.NewSalt()
	}
	m.used = true
	m.keep()
	return m.salt
}

func (m *keyMarks) mark(key string) string { return m.use().Mark(key) }

// startEnviron is the environment that the programs of a session get a part of: artoo's own, with the search path of the
// user's shell. The certificates of ca_file are those of node, too, which alone adds such a file to its own.
func (s *session) startEnviron() []string {
	const extra = "NODE_EXTRA_CA_CERTS"
	all := s.process.Environ
	if _, has := all.Lookup("PATH"); has {
		all = all.With("PATH", s.path)
	}
	if _, has := all.Lookup(extra); s.cfg.CAFile != "" && !has {
		all = all.With(extra, s.abs(s.cfg.CAFile))
	}
	return all
}

// childEnviron is the environment of commands, and the credentials that it leaves out.
func (s *session) childEnviron() (env, withheld []string) {
	return environ.ChildEnviron(s.startEnviron(), environ.Withholding{Keys: append(s.cfg.KeyVariables(), telemetry.KeyVariables()...), Pass: s.cfg.PassEnv,
		Holds: func(value string) bool {
			return redact.InVariable(value) || slices.ContainsFunc(s.cfg.SeenKeys(), func(key string) bool {
				return key != "" && strings.Contains(value, key)
			})
		}})
}

// secretsIn are the places of keys in text, in order, none over another.
func (s *session) secretsIn(text string) (found []tool.Secret) {
	add := func(from, to int) {
		if !slices.ContainsFunc(found, func(s tool.Secret) bool { return from < s.To && s.From < to }) {
			found = append(found, tool.Secret{From: from, To: to, Mark: s.marks.mark(text[from:to])})
		}
	}
	for _, key := range s.cfg.SeenKeys() {
		for from := 0; key != ""; {
			at := strings.Index(text[from:], key)
			if at < 0 {
				break
			}
			add(from+at, from+at+len(key))
			from += at + len(key)
		}
	}
	redact.Find(text, add)
	slices.SortStableFunc(found, func(a, b tool.Secret) int { return a.From - b.From })
	return found
}

// shown is what a text says about settings without the credentials in it: all that artoo itself prints, logs or reports of
// settings, and of errors, passes through it.
func (s *session) shown(text string) string {
	if s.cfg == nil {
		return redact.Setting(text)
	}
	return s.mask(redact.Setting(text))
}

// values are the settings as they may be shown.
func (s *session) values() []config.Value {
	values := s.cfg.Values()
	for i := range values {
		values[i].Value = s.shown(values[i].Value)
	}
	return values
}

// keepCredentials has the credentials in the settings masked wherever they turn up.
func (s *session) keepCredentials() {
	for _, line := range s.cfg.Written() {
		for _, credential := range redact.Credentials(line) {
			s.cfg.Keep(credential)
		}
	}
}

// mask puts marks in place of keys.
func (s *session) mask(text string) string {
	for _, key := range s.cfg.SeenKeys() {
		if key != "" && strings.Contains(text, key) {
			text = strings.ReplaceAll(text, key, s.marks.mark(key))
		}
	}
	if redact.Holds(text) {
		text = s.marks.use().Mask(text)
	}
	return s.parts.Mask(text, s.marks.mark)
}
