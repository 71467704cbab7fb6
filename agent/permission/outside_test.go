package permission

import (
	"os"
	"path/filepath"
	"testing"
)

func TestGitMovesDirectoriesOutside(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "sub", "dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "a"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	p := &Policy{Mode: ModeAsk, Root: root, Dir: root}
	for line, moves := range map[string]bool{
		"git mv sub docs": true, "git mv -f sub/dir other": true, "git mv a sub sub/dir": true,
		"git mv a b": false, "git mv a sub": false, "git mv gone sub": false,
	} {
		commands, odd := p.takeApart(line, root)
		if len(commands) != 1 {
			t.Fatalf("%s: %d commands, %v", line, len(commands), odd)
		}
		if why := p.known(commands[0]); (why != "") != moves {
			t.Errorf("%s: %q", line, why)
		}
	}
}
