package doctor

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"artoo/provider"
	texts "artoo/tool/text"
)

// localLimit is the longest that all questions to a local server may take.
const localLimit = 5 * time.Second

// smallWindow is what an agent's prompt, tools and a few files fill, in tokens.
const smallWindow = 16 << 10

// LocalServer is one of the user's own models to be asked about its windows.
type LocalServer struct {
	Provider provider.Facts // its Local is not nil
	Host     provider.LocalHost
	Address  string // http://host:port
	Named    bool   // the user named its address: it should be there
	Model    string // the chosen one; "" when another provider is chosen
	Window   int    // the settings ask for it; 0 when they do not
}

// Check asks the server for its version and its models.
func (o *LocalServer) Check(ctx context.Context) []Finding {
	topic := o.Provider.Name
	ctx, cancel := context.WithTimeout(ctx, localLimit)
	defer cancel()
	version, err := o.Host.Version(ctx)
	if err != nil {
		fix := o.Provider.Local.Start + ", or " + o.Provider.URLVar + " if it is elsewhere"
		switch {
		case o.Model != "":
			return []Finding{fail(topic, fix, "no server answers at %s: %s", o.Address, o.why(err))}
		case o.Named:
			return []Finding{warn(topic, fix, "no server answers at %s: %s", o.Address, o.why(err))}
		}
		return []Finding{ok(topic, "no server answers at %s", o.Address)}
	}
	found := []Finding{ok(topic, "version %s at %s", version, o.Address)}
	if o.Model != "" {
		found = append(found, o.window(ctx))
	}
	return append(found, o.running(ctx)...)
}

// window compares what requests will ask for with what the model can take.
func (o *LocalServer) window(ctx context.Context) Finding {
	topic := o.Provider.Name
	limit, own, err := o.Host.Windows(ctx, o.Model)
	if err != nil {
		return fail(topic, o.Provider.Local.Fetch+" "+o.Model, "%s: %s", o.Model, o.why(err))
	}
	set, by := o.Window, "your settings"
	if set == 0 {
		set, by = own, "its Modelfile"
	}
	if limit > 0 {
		set = min(set, limit)
	}
	table := fmt.Sprintf("context = %d in [provider.%s.models.%q] of config.toml", min(32<<10, max(limit, smallWindow)),
		topic, o.Model)
	switch {
	case limit > 0 && limit < smallWindow:
		return warn(topic, "a model with a larger window",
			"%s takes %d tokens at most, which a long task does not fit into",
			o.Model, limit)
	case set > 0 && set < smallWindow:
		return warn(topic, table, "%s has a window of %d tokens from %s, of %s", o.Model, set, by, orUnknown(limit))
	case set > 0:
		return ok(topic, "%s has a window of %d tokens from %s, of %s", o.Model, set, by, orUnknown(limit))
	}
	if limit == 0 {
		return ok(topic, "%s does not say how many tokens it takes; artoo asks for what it needs", o.Model)
	}
	return ok(topic, "%s takes %d tokens; artoo asks for what it needs", o.Model, limit)
}

func orUnknown(n int) string {
	if n == 0 {
		return "an unknown number"
	}
	return strconv.Itoa(n)
}

// running looks at the models that are loaded now: one that does not fit into
// the graphics card is many times slower.
func (o *LocalServer) running(ctx context.Context) []Finding {
	topic := o.Provider.Name
	models, err := o.Host.Loaded(ctx)
	if err != nil {
		return []Finding{warn(topic, "update "+o.Provider.Local.Title, "what is loaded is not told: %s", o.why(err))}
	}
	var found []Finding
	for _, m := range models {
		text := fmt.Sprintf("%s is loaded, %s", m.Name, texts.Bytes(m.Size))
		if m.Context > 0 {
			text += fmt.Sprintf(", with a window of %d tokens", m.Context)
		}
		if m.Graphics > 0 && m.Graphics < m.Size {
			found = append(found, warn(topic, "a smaller model or window",
				"%s, %d%% of it outside the graphics card, which is slow", text, 100-m.Graphics*100/m.Size))
			continue
		}
		found = append(found, ok(topic, "%s", text))
	}
	return found
}

// why is what an error of the server says, without the topic of the line.
func (o *LocalServer) why(err error) string {
	return strings.TrimPrefix(err.Error(), o.Provider.Name+": ")
}
