package registry

import (
	"slices"
	"testing"

	"artoo/provider"
	"artoo/provider/cli"
	"artoo/provider/openai"
)

func TestEveryRowHasAConstructor(t *testing.T) {
	t.Parallel()
	chat := []string{"deepseek", "openrouter", provider.Compatible}
	for _, name := range provider.Names() {
		p := New(Settings{Server: provider.Server{Name: name}, CLI: new(cli.CLI)})
		if _, isChat := p.(*openai.Chat); isChat != slices.Contains(chat, name) {
			t.Errorf("%s: %T is made", name, p)
		}
	}
}

func TestANameOfTheUsersOwnIsACompatibleServer(t *testing.T) {
	t.Parallel()
	p, ok := New(Settings{Server: provider.Server{Name: "mine", BaseURL: "http://localhost:8080/v1"}}).(*openai.Chat)
	if !ok || p.Name != "mine" || !p.Quirks.MergeUsers {
		t.Errorf("got %+v", p)
	}
}

func TestALocalServerHasAnAddressWithoutASetting(t *testing.T) {
	t.Parallel()
	if got := Address("ollama", ""); got != "http://127.0.0.1:11434" {
		t.Errorf("got %q", got)
	}
	if got := Address("openai", ""); got != "" {
		t.Errorf("the own address of a vendor is its facts': got %q", got)
	}
}
