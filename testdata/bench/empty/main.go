// Empty measures the cost of every Go program.
package main

func main() {}
