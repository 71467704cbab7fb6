package config

// LanguageServer is a line of [lsp]: one that is used as it is known, or not at all, or
// the table of one with its command and files.
type LanguageServer struct {
	Name    string
	Off     bool
	Command []string // program and arguments; nil for those that are known
	Files   []string // extensions, with their dot; nil for those that are known
}

// applyServers reads [lsp]. An empty table is one too: the servers that are known.
func (c loader) applyServers(t *table) {
	c.Servers = []LanguageServer{}
	for _, name := range t.keys() {
		if on, ok := t.m[name].(bool); ok {
			t.asked[name] = true
			c.Servers = append(c.Servers, LanguageServer{Name: name, Off: !on})
			continue
		}
		sub := t.sub(name)
		if sub == nil {
			continue
		}
		s := LanguageServer{Name: name, Command: sub.texts("command"), Files: sub.texts("files")}
		sub.leftover(false)
		c.Servers = append(c.Servers, s)
	}
}
