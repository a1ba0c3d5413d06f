# chain.hpp, with chain_insert.hpp in it, with one change each: what the model checker must notice (mutation_test.cpp).
# table_mutant(NAME FROM TO) adds a mutant to `mutant_sources`; where FROM is not there any more, the mutant is the
# algorithm itself, and the test fails.
set(headers ${PROJECT_SOURCE_DIR}/include/warploom/table)
file(READ ${headers}/chain_insert.hpp insert)
file(READ ${headers}/chain.hpp chain)
string(REPLACE "#include \"warploom/table/chain_insert.hpp\"" "${insert}" chain "${chain}")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${headers}/chain_insert.hpp ${headers}/chain.hpp)
set(mutant_directory ${CMAKE_CURRENT_BINARY_DIR}/mutants)
set(mutant_sources "")
function(table_mutant mutant from to)
  string(REPLACE "${from}" "${to}" text "${chain}")
  file(CONFIGURE OUTPUT ${mutant_directory}/chain_${mutant}.hpp CONTENT "${text}" @ONLY)
  configure_file(model_mutant.cpp.in ${mutant_directory}/${mutant}.cpp @ONLY)
  set(mutant_sources ${mutant_sources} ${mutant_directory}/${mutant}.cpp PARENT_SCOPE)
endfunction()

table_mutant(publish_expects_no_version "if (now.version() != seen.version()) {" "if (false) {")
table_mutant(publish_keeps_version ".with_next_version();" ";")
table_mutant(publish_trusts_fresh_slots "if (Slots::holds(word, attempt.key)) return false;" "")
table_mutant(publish_counts_no_insertions
  "count_slots(fresh) != ((now.version() - seen.version()) & Header::kVersionMask)" "false")
table_mutant(finish_keeps_version ".with_next_version().bits" ".bits")
table_mutant(finish_reads_home_once "if (over(Header{memory.load_acquire(home_line, kHeaderWord)})) return;" "")
table_mutant(absent_though_pending "scan.home.pending() != 0" "false")
table_mutant(claims_while_pending
  "if (!at_home && Header{memory.load_acquire(attempt.home, kHeaderWord)}.version() != scan.home.version())"
  "if (false)")
table_mutant(claims_any_version "if (!won && now.version() != scan.free_header.version()) return false;" "")
table_mutant(claims_pinned_slots ".pins() != 0" ".pins() > 5")
table_mutant(updates_without_pin "Tail::kOnePin" "Word{0}")
table_mutant(updates_what_is_not_live "header.live(slot) && Slots" "Slots")
table_mutant(trusts_the_walk "if (!header.live(slot)) return false;" "")
table_mutant(trusts_the_key_of_the_walk "if (!Slots::holds(word, attempt.key)) return false;" "")
table_mutant(finds_without_second_look "if (!same(Header{memory.load(line, kHeaderWord)})) return false;" "")
table_mutant(erases_another_life "} while (same(Header{expected}));" "} while (Header{expected}.live(slot));")
table_mutant(keeps_claims "if (done && attempt.claim_line != kNoLine)" "if (false)")
table_mutant(appends_over_another "if (Tail{tail}.next() != kNoLine) {" "if (false) {")
table_mutant(waits_for_claims "++attempt.patience;" "")
