// Empty is what every Go program costs.
package main

func main() {}
