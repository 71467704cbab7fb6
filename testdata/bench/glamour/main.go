// Glamour links the Markdown renderer and does nothing: what its initialisation
// costs, which no program that links it can avoid.
package main

import _ "github.com/charmbracelet/glamour"

func main() {}
