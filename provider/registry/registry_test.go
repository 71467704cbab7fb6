package registry

import (
	"testing"

	"artoo/provider"
	"artoo/provider/cli"
	"artoo/provider/openai"
)

func TestEveryRowHasAConstructor(t *testing.T) {
	made := constructors()
	for _, name := range provider.Names() {
		if made[name] == nil {
			t.Errorf("%s has facts and no constructor", name)
			continue
		}
		if New(Settings{Server: provider.Server{Name: name}, CLI: new(cli.CLI)}) == nil {
			t.Errorf("%s: no provider is made", name)
		}
		delete(made, name)
	}
	for name := range made {
		t.Errorf("%s has a constructor and no facts", name)
	}
}

func TestANameOfTheUsersOwnIsACompatibleServer(t *testing.T) {
	p, ok := New(Settings{Server: provider.Server{Name: "mine", BaseURL: "http://localhost:8080/v1"}}).(*openai.Chat)
	if !ok || p.Name != "mine" || !p.Quirks.MergeUsers {
		t.Errorf("got %+v", p)
	}
}

func TestALocalServerHasAnAddressWithoutASetting(t *testing.T) {
	if got := Address("ollama", ""); got != "http://127.0.0.1:11434" {
		t.Errorf("got %q", got)
	}
	if got := Address("openai", ""); got != "" {
		t.Errorf("the own address of a vendor is its facts': got %q", got)
	}
}
