package cases

// differences are the cases whose outcome is another one here, on purpose; docs/semantics.md names each with the reasons.
func differences() map[string]string {
	const (
		timeLimit = "there is no buffer by event time: Every and OnCheckpoint hold updates back"
		unit      = "the case feeds a processor of Kafka Streams' own; OnClose is the same policy of a window"
		transform = "tables have no operator that sees deletions: Changes and Process do"
		retention = "rows that a window has given out do not depend on what a store retains"
		merged    = "a session begins with init once"
		joinLate  = "a record more than grace behind the watermark is late in a join, too"
		joinTime  = "time is the least of both inputs, and results come in the order in which they became certain"
		zeroTime  = "windows may begin before 1970"
		jump      = "a jump of time loses no window, and no record of one"
		gone      = "a closed window is gone from its table unless Retain keeps it for joins"
		eager     = "an unmatched record is given out when its window has closed, never before"
		noKey     = "a key that a function returns is a key"
		twice     = "a table joined twice is joined right: a row that lost its partner goes"
		versions  = "no operator lists the versions of a row"
		schedule  = "a schedule by stream time belongs to a key here"
	)
	return map[string]string{
		"repartition_drops_null_key_without_relaxed_join":                      "an exchange loses nothing: whoever needs the key drops the record, and counts it",
		"tw_store_count_on_close_uncached":                                     retention,
		"tw_store_reduce_on_update_uncached":                                   retention,
		"tw_store_aggregate_on_update_uncached":                                retention,
		"tw_integration_no_grace_on_close":                                     retention,
		"tw_integration_grace_on_close":                                        retention,
		"se_store_reduce_on_close":                                             retention,
		"se_aggregate_on_update":                                               merged,
		"se_aggregate_on_close":                                                merged,
		"se_cogroup_extend_chain":                                              merged,
		"se_cogroup_two_streams_many_windows":                                  merged,
		"ss_inner_repartitioned":                                               noKey,
		"ss_left_repartitioned":                                                noKey,
		"ss_outer_repartitioned":                                               noKey,
		"ss_inner_int_sum":                                                     joinLate,
		"ss_inner_asymmetric_after_only":                                       joinLate,
		"ss_left_zero_after":                                                   joinLate,
		"ss_left_window_bounds":                                                joinLate,
		"ss_outer_window_bounds":                                               joinLate,
		"ss_left_close_before_match_order":                                     joinTime,
		"ss_outer_close_before_match_order":                                    joinTime,
		"ss_outer_asymmetric_both_sides":                                       joinTime,
		"ss_left_legacy_eager_duplicates":                                      eager,
		"ss_outer_legacy_eager_duplicates":                                     eager,
		"tw_after_stream_join_and_restart_on_close":                            retention,
		"sw_early_small_on_update":                                             zeroTime,
		"sw_early_repeated_on_update":                                          zeroTime,
		"sw_early_no_grace_small_on_update":                                    zeroTime,
		"sw_early_large_on_update":                                             zeroTime,
		"sw_early_no_grace_large_on_update":                                    zeroTime,
		"sw_late_by_grace_on_close":                                            jump,
		"sw_shuffled_order_on_close":                                           jump,
		"sw_integration_no_grace_on_close":                                     jump,
		"sw_after_stream_join_and_restart_on_close":                            jump,
		"tw_join_of_windowed_tables_on_close":                                  gone,
		"tt_multi_inner_inner":                                                 twice,
		"tt_multi_outer_inner":                                                 twice,
		"vt_get_expired_if_latest_value":                                       "history is dropped as time passes in all inputs: until then a lookup finds it",
		"st_left_sequence_versioned_grace":                                     "time passes with every record, also with one whose value is null",
		"vt_get_record_versions_from_older_segments":                           versions,
		"vt_get_record_versions_from_multiple_old_segments_in_ascending_order": versions,
		"vt_get_expired_if_latest_version_value":                               versions,
		"pu_wall_clock_gap":                                                    "virtual time does not jump: each tick on the way is at its own time",
		"pu_stream_time_cancel":                                                "a timer fires right behind the record that brings its time: nothing comes between",
		"tk_task_idling":                                                       "an empty input is waited for while it is known to have more, not for a time",
		"tv_transform_values_plain":                                            transform,
		"tv_transform_values_old_values_stateful_materialized":                 transform,
		"su_time_limit_zero":                                                   timeLimit,
		"su_record_limit_1":                                                    timeLimit,
		"su_record_limit_3_survives_restart":                                   timeLimit,
		"su_before_group_by":                                                   timeLimit,
		"su_before_outer_join_left":                                            timeLimit,
		"su_unit_zero_limit_windowed":                                          timeLimit,
		"su_unit_time_limit_keeps_tombstone_session":                           timeLimit,
		"su_unit_over_record_capacity":                                         timeLimit,
		"su_unit_shut_down_over_record_capacity":                               timeLimit,
		"su_unit_window_close_grace_1":                                         unit,
		"su_unit_window_close_at_window_end":                                   unit,
		"su_unit_window_close_drops_tombstone_session":                         unit,
		"pu_flush_first_input":                                                 schedule,
		"pu_flush_two_keys":                                                    schedule,
		"pu_wall_clock_advances":                                               schedule,
	}
}

// pendingOperations are not built yet. The list must shrink: an operation that builds and stands here is an error.
func pendingOperations() []string {
	return []string{}
}
