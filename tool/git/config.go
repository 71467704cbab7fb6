package git

import "strings"

// EachSetting calls each for every key of a git configuration, names in lower case, up to a line that git would not
// take. A section with a name of its own ([remote "x"]) is passed over.
func EachSetting(config string, each func(section, key, value string)) {
	c := &configText{rest: strings.ReplaceAll(strings.TrimPrefix(config, "\ufeff"), "\r\n", "\n")}
	section, named := "", false
	for c.skip(); c.rest != ""; c.skip() {
		if strings.HasPrefix(c.rest, "[") {
			head, ok := c.head()
			if !ok {
				return
			}
			section, _, named = strings.Cut(head, " ")
			section = strings.ToLower(section)
			continue
		}
		key := c.word()
		c.rest = strings.TrimLeft(c.rest, " \t")
		value, ok := "", key != ""
		if after, assigned := strings.CutPrefix(c.rest, "="); assigned {
			c.rest = after
			value, ok = c.value()
		} else {
			ok = ok && (c.rest == "" || c.rest[0] == '\n')
		}
		if !ok {
			return
		}
		if !named {
			each(section, strings.ToLower(key), value)
		}
	}
}

// setting is the last value of a key in a configuration file.
func setting(path, section, key string) (value string, ok bool) {
	text, err := ReadSome(path)
	if err != nil {
		return "", false
	}
	EachSetting(text, func(s, k, v string) {
		if s == section && k == key {
			value, ok = v, true
		}
	})
	return value, ok
}

// isTrue reports whether git takes a value for a yes. A key without a value is one.
func isTrue(value string) bool {
	switch strings.ToLower(value) {
	case "false", "no", "off", "0":
		return false
	}
	return true
}

// configText is what is left of a configuration.
type configText struct{ rest string }

// skip passes over spaces and comments.
func (c *configText) skip() {
	for {
		c.rest = strings.TrimLeft(c.rest, " \t\r\n\v\f")
		if c.rest == "" || c.rest[0] != '#' && c.rest[0] != ';' {
			return
		}
		_, c.rest, _ = strings.Cut(c.rest, "\n")
	}
}

// head takes a section's head, with a space before a name of its own.
func (c *configText) head() (head string, ok bool) {
	quoted := false
	for i := 1; i < len(c.rest); i++ {
		switch ch := c.rest[i]; {
		case ch == '\n':
			return "", false
		case ch == '\\' && quoted:
			i++
		case ch == '"':
			quoted = !quoted
		case ch == ']' && !quoted:
			head, c.rest = c.rest[1:i], c.rest[i+1:]
			return strings.ReplaceAll(head, "\t", " "), true
		}
	}
	return "", false
}

// word takes a key.
func (c *configText) word() (word string) {
	end := strings.IndexFunc(c.rest, func(r rune) bool {
		return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
	if end < 0 {
		end = len(c.rest)
	}
	word, c.rest = c.rest[:end], c.rest[end:]
	return word
}

// value takes the rest of a line and those that it goes on in, without quotes, escapes and comment.
func (c *configText) value() (value string, ok bool) {
	var b strings.Builder
	quoted, spaces := false, ""
	for i := 0; i < len(c.rest); i++ {
		ch := c.rest[i]
		switch {
		case ch == '\n':
			c.rest = c.rest[i:]
			return b.String(), !quoted
		case !quoted && (ch == '#' || ch == ';'):
			_, after, _ := strings.Cut(c.rest[i:], "\n")
			c.rest = after
			return b.String(), true
		case !quoted && strings.IndexByte(" \t\r\v\f", ch) >= 0:
			if b.Len() > 0 {
				spaces += string(ch)
			}
			continue
		}
		b.WriteString(spaces)
		spaces = ""
		switch {
		case ch == '"':
			quoted = !quoted
		case ch == '\\' && i+1 < len(c.rest):
			i++
			if at := strings.IndexByte("ntb\"\\", c.rest[i]); at >= 0 {
				b.WriteByte("\n\t\b\"\\"[at])
			} else if c.rest[i] != '\n' {
				return "", false
			}
		default:
			b.WriteByte(ch)
		}
	}
	c.rest = ""
	return b.String(), !quoted
}
