// This program is replaced by those that TestCompileTime writes.
package main

import "github.com/weirstream/weir/stream"

func main() { stream.New("replaced") }
