package mcp

//lint:file-ignore SA1019 Roots are deprecated since 2026-07-28, and servers of both eras still ask for them.

import sdk "github.com/modelcontextprotocol/go-sdk/mcp"

// declareRoots tells servers that they may ask for the roots.
func declareRoots(caps *sdk.ClientCapabilities) { caps.RootsV2 = &sdk.RootCapabilities{} }

// addRoot makes the project's root the only one that a server of the older era is given.
func addRoot(client *sdk.Client, root string) { client.AddRoots(projectRoot(root)) }

// rootsFor is the answer to a server of the newer era that asks for the roots; nil if it asks for
// something else.
func rootsFor(asked any, root string) *sdk.ListRootsResult {
	if _, ok := asked.(*sdk.ListRootsParams); !ok {
		return nil
	}
	if root == "" {
		return &sdk.ListRootsResult{Roots: []*sdk.Root{}}
	}
	return &sdk.ListRootsResult{Roots: []*sdk.Root{projectRoot(root)}}
}

func projectRoot(root string) *sdk.Root { return &sdk.Root{URI: fileURI(root), Name: "project"} }
