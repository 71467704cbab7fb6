package provider_test

import (
	"context"
	"fmt"

	"artoo/provider"
	"artoo/provider/fake"
)

// A provider streams the events of one reply; the last one holds all of it.
func Example() {
	var p provider.Provider = &fake.Provider{Steps: []fake.Step{fake.Say("Tea", " is ready.")}}
	request := provider.Request{Options: provider.Options{Model: "m"},
		Messages: []provider.Message{provider.UserText("Tea?")}}
	for event, err := range p.Stream(context.Background(), request) {
		if err != nil {
			panic(err)
		}
		switch e := event.(type) {
		case provider.TextDelta:
			fmt.Printf("%q\n", e.Text)
		case provider.Done:
			fmt.Println(e.Stop, e.Message.Text())
		}
	}
	// Output:
	// "Tea"
	// " is ready."
	// complete Tea is ready.
}
