// Package house holds the house rules of this repository as tests: what may import what, where a third-party package
// may appear, what the core must not touch, how large a file may grow. A rule that is only written down erodes; these
// fail with the file, the line and the reason. To change a rule, change its test and say why in docs/adr.
//
// It has no code of its own and is imported by nobody.
package house
