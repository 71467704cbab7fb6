// Nethttp links net/http and does nothing: what its initialisation costs.
package main

import _ "net/http"

func main() {}
