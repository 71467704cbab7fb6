package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"artoo/provider"
)

// localLimit is the longest one question to a local server may take.
const localLimit = 3 * time.Second

// smallWindow is what an agent's prompt, tools and a few files fill, in tokens.
const smallWindow = 16 << 10

// LocalServer is one of the user's own models to be asked about its windows. It
// speaks Ollama's API, the only one there is for that.
type LocalServer struct {
	Provider provider.Facts // whose Local is not nil
	Address  string         // http://host:port
	Named    bool           // the user named its address: it should be there
	Model    string         // the chosen one; "" when another provider is chosen
	Window   int            // that the settings ask for; 0 when they do not
}

// shownModel is what is read of a model's description.
type shownModel struct {
	Info       map[string]json.RawMessage `json:"model_info"`
	Parameters string                     `json:"parameters"`
}

// limit is the window the model was made for, 0 when it is not said.
func (s shownModel) limit() int {
	for name, raw := range s.Info {
		if n, err := strconv.Atoi(string(raw)); err == nil && strings.HasSuffix(name, ".context_length") {
			return n
		}
	}
	return 0
}

// own is the window its Modelfile sets, 0 for none.
func (s shownModel) own() int {
	for line := range strings.Lines(s.Parameters) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "num_ctx" {
			if n, err := strconv.Atoi(f[1]); err == nil {
				return n
			}
		}
	}
	return 0
}

type runningModels struct {
	Models []struct {
		Name    string `json:"name"`
		Size    int64  `json:"size"`
		VRAM    int64  `json:"size_vram"`
		Context int    `json:"context_length"`
	} `json:"models"`
}

func checkLocal(ctx context.Context, w *Probes) []Finding {
	o := w.Local
	if o == nil || w.NoNetwork || w.HTTP == nil {
		return nil
	}
	topic := o.Provider.Name
	var version struct {
		Version string `json:"version"`
	}
	if err := o.get(ctx, w.HTTP, "api/version", nil, &version); err != nil {
		fix := o.Provider.Local.Start + ", or " + o.Provider.URLVar + " if it is elsewhere"
		switch {
		case o.Model != "":
			return []Finding{fail(topic, fix, "no server answers at %s: %v", o.Address, err)}
		case o.Named:
			return []Finding{warn(topic, fix, "no server answers at %s: %v", o.Address, err)}
		}
		return []Finding{ok(topic, "no server answers at %s", o.Address)}
	}
	found := []Finding{ok(topic, "version %s at %s", version.Version, o.Address)}
	if o.Model != "" {
		found = append(found, o.window(ctx, w.HTTP))
	}
	return append(found, o.running(ctx, w.HTTP)...)
}

// window compares what requests will ask for with what the model can take.
func (o *LocalServer) window(ctx context.Context, client *http.Client) Finding {
	topic := o.Provider.Name
	var show shownModel
	if err := o.get(ctx, client, "api/show", map[string]string{"model": o.Model}, &show); err != nil {
		return fail(topic, o.Provider.Local.Fetch+" "+o.Model, "%s: %v", o.Model, err)
	}
	limit, set, by := show.limit(), o.Window, "your settings"
	if set == 0 {
		set, by = show.own(), "its Modelfile"
	}
	if limit > 0 {
		set = min(set, limit)
	}
	table := fmt.Sprintf("context = %d in [provider.%s.models.%q] of config.toml", min(32<<10, max(limit, smallWindow)), topic, o.Model)
	switch {
	case limit > 0 && limit < smallWindow:
		return warn(topic, "a model with a larger window", "%s takes %d tokens at most, which a long task does not fit into", o.Model, limit)
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
func (o *LocalServer) running(ctx context.Context, client *http.Client) []Finding {
	topic := o.Provider.Name
	var running runningModels
	if err := o.get(ctx, client, "api/ps", nil, &running); err != nil {
		return []Finding{warn(topic, "update "+o.Provider.Local.Title, "what is loaded is not told: %v", err)}
	}
	var found []Finding
	for _, m := range running.Models {
		text := fmt.Sprintf("%s is loaded, %s", m.Name, size(m.Size))
		if m.Context > 0 {
			text += fmt.Sprintf(", with a window of %d tokens", m.Context)
		}
		if m.VRAM > 0 && m.VRAM < m.Size {
			found = append(found, warn(topic, "a smaller model or window", "%s, %d%% of it outside the graphics card, which is slow", text, 100-m.VRAM*100/m.Size))
			continue
		}
		found = append(found, ok(topic, "%s", text))
	}
	return found
}

// get asks for a JSON document; with a body it is a POST.
func (o *LocalServer) get(ctx context.Context, client *http.Client, path string, body, into any) error {
	ctx, cancel := context.WithTimeout(ctx, localLimit)
	defer cancel()
	method, data := http.MethodGet, []byte(nil)
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return err
		}
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(o.Address, "/")+"/"+path, bytes.NewReader(data))
	if err != nil {
		return errors.New("no address")
	}
	reply, err := client.Do(r)
	if err != nil {
		if outer, ok := errors.AsType[*url.Error](err); ok {
			err = outer.Err
		}
		return err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(io.LimitReader(reply.Body, 8<<20))
	if err != nil {
		return err
	}
	if reply.StatusCode/100 != 2 {
		var said struct {
			Error string `json:"error"`
		}
		if json.Unmarshal(text, &said) == nil && said.Error != "" {
			return fmt.Errorf("%s (%d)", said.Error, reply.StatusCode)
		}
		return fmt.Errorf("status %d", reply.StatusCode)
	}
	return json.Unmarshal(text, into)
}
