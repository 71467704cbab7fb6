package sandbox

import (
	"os"
	"strings"
	"testing"
)

func TestTheProfileForMacOS(t *testing.T) {
	config := Config{
		Root: `/Users/u/my "project"`, Read: []string{"/Users/u/docs"}, Write: []string{"/Users/u/other"},
		Common: "/Users/u/main/.git", Toolchains: []string{"/Users/u/.pyenv"}, Temp: "/private/tmp/artoo-1",
		Caches: []Cache{{Path: "/Users/u/go/pkg/mod", Own: "/Users/u/Library/Caches/artoo/go-mod", Env: "GOMODCACHE"}},
	}
	for name, readOnly := range map[string]bool{"testdata/profile.sb": false, "testdata/profile-reading.sb": true} {
		got := profile(config, Options{ReadOnly: readOnly}, []string{config.Root + "/.env"}, []string{config.Root + "/.git"})
		if os.Getenv("UPDATE_PROFILE") != "" {
			if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
}

func TestACommandWithTheNetworkHasItOnMacOS(t *testing.T) {
	const all = "(allow network*)\n"
	for _, network := range []bool{true, false} {
		got := profile(Config{Root: "/Users/u/p", Temp: "/private/tmp/artoo-1", Network: network}, Options{Job: true, Whole: true}, nil, nil)
		if strings.Contains(got, all) != network || strings.Contains(got, "com.apple.mDNSResponder") != network {
			t.Errorf("network %v:\n%s", network, got)
		}
	}
}
