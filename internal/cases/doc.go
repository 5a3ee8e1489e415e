// Package cases is a test: it runs semantic cases, facts about what Kafka Streams' own tests assert, through weir's DSL.
//
// The folder WEIR_CASES (default: ../shared/cases beside the repository) has one JSON file per family. Each case is a topology in
// words, its inputs in order, and the outputs that are asserted. format_test.go is the format, and refuses what it does not know;
// words_test.go turns words into functions, the *_ops_test.go files into topologies, one for each operation; run_test.go drives them
// through streamtest; match_test.go compares.
//
// Outputs of tables are compared after repeats of an unchanged value and deletions of absent rows were removed on both sides. What
// still differs does so on purpose: it is listed in settled_test.go, and docs/semantics.md says why.
package cases
