package conversation_test

import (
	"fmt"
	"os"

	"artoo/conversation"
	"artoo/provider"
)

// A session is kept line by line, and goes on where it was left.
func Example() {
	dir, err := os.MkdirTemp("", "sessions-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	store := conversation.Store{Dir: dir}
	session := store.Create(conversation.Header{CWD: "/work", Provider: "fake", Model: "m"})
	talk := conversation.New(conversation.Config{MaxContextTokens: 10_000}, session)
	if err := talk.Append(provider.UserText("Is there tea?")); err != nil {
		panic(err)
	}
	if err := session.Close(); err != nil {
		panic(err)
	}
	again, err := store.Open(session.ID())
	if err != nil {
		panic(err)
	}
	defer again.Close()
	for _, m := range conversation.New(conversation.Config{MaxContextTokens: 10_000}, again).Messages() {
		fmt.Println(m.Role, m.Text())
	}
	// Output:
	// user Is there tea?
}
