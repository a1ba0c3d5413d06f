// What the model checker would notice: chain.hpp with one change each (mutants.cmake), and a program that
// shows it.

#include <gtest/gtest.h>

#include "table/model_checker.hpp"
#include "table/model_programs.hpp"

namespace warploom::table::model {

#define WARPLOOM_MUTANT_OF(walk, change, shown_by)                                    \
  Variant walk##_##change(int slots);                                                 \
  TEST(Mutation, change) {                                                            \
    const Adversary& one = adversary(shown_by);                                       \
    EXPECT_TRUE(check(one.program, walk##_##change(one.slots)).violation)             \
        << "not noticed; is the text that mutants.cmake changes still in chain.hpp?"; \
  }
#define WARPLOOM_MUTANT(change, shown_by) WARPLOOM_MUTANT_OF(mutant, change, shown_by)

WARPLOOM_MUTANT(publish_expects_no_version, "two insert a key while another is erased")
WARPLOOM_MUTANT(publish_keeps_version, "two insert a key while another is erased")
WARPLOOM_MUTANT(publish_trusts_fresh_slots, "three insert into a line")
WARPLOOM_MUTANT(publish_counts_no_insertions, "two insert a key while another is erased")
WARPLOOM_MUTANT(finish_keeps_version, "pending insertion erased, its slot claimed")
WARPLOOM_MUTANT(finish_reads_home_once, "help that comes late")
WARPLOOM_MUTANT(absent_though_pending, "pending insertion of the key that is inserted")
WARPLOOM_MUTANT(claims_while_pending, "pending insertion erased, its slot claimed")
WARPLOOM_MUTANT(claims_any_version, "pending insertion erased, its slot claimed")
WARPLOOM_MUTANT(claims_pinned_slots, "addition to a slot used again")
WARPLOOM_MUTANT(updates_without_pin, "addition to a slot used again")
WARPLOOM_MUTANT(updates_what_is_not_live, "addition to a slot used again")
// A walk that reads headers before slots never meets another key there; one of many lanes does.
WARPLOOM_MUTANT_OF(tile_mutant, trusts_the_key_of_the_walk, "slot used again for another key")
WARPLOOM_MUTANT(finds_without_second_look, "slot used again for its key")
WARPLOOM_MUTANT(erases_another_life, "erasures of a slot used again")
WARPLOOM_MUTANT(keeps_claims, "one key inserted, erased, inserted")
WARPLOOM_MUTANT(appends_over_another, "two lines appended at once")
WARPLOOM_MUTANT(waits_for_claims, "pending insertion of the key that is inserted")
#undef WARPLOOM_MUTANT
#undef WARPLOOM_MUTANT_OF

#define WARPLOOM_GROWTH_MUTANT(mutant, preemptions_to_do, levels, shown_by)                  \
  Variant growing_mutant_##mutant(int);                                                      \
  TEST(GrowthMutation, mutant) {                                                             \
    const Result result = check(growth_adversary(shown_by), growing_mutant_##mutant(levels), \
                                {.preemptions = preemptions_to_do});                         \
    EXPECT_TRUE(result.violation)                                                            \
        << "not noticed; is the text that mutants.cmake changes still in chain_split.hpp?";  \
  }

WARPLOOM_GROWTH_MUTANT(splits_pinned_lines, 2, 1, "two move to a line of one slot")
WARPLOOM_GROWTH_MUTANT(freezes_after_the_thaw, 2, 1, "found while it moves")
WARPLOOM_GROWTH_MUTANT(thaws_without_version, 3, 1, "first growth by two")
WARPLOOM_GROWTH_MUTANT(updates_what_is_frozen, 2, 1, "no memory for what moves")
WARPLOOM_GROWTH_MUTANT(erases_what_is_frozen, 2, 1, "first growth")
WARPLOOM_GROWTH_MUTANT(absent_though_moved, 2, 1, "first growth")
WARPLOOM_GROWTH_MUTANT(settles_again, 2, 1, "found while it moves")
WARPLOOM_GROWTH_MUTANT(level_of_no_parity, 2, 1, "found while it moves")
WARPLOOM_GROWTH_MUTANT(helps_what_is_over, 3, 1, "no memory for what moves")
WARPLOOM_GROWTH_MUTANT(looks_for_a_child_when_over, 2, 2, "first growth by two")
WARPLOOM_GROWTH_MUTANT(takes_a_decision_of_later, 3, 1, "no memory for what moves")
WARPLOOM_GROWTH_MUTANT(thaws_what_is_over, 2, 1, "first growth by two")
WARPLOOM_GROWTH_MUTANT(keeps_claims_of_the_parent, 2, 1, "first growth by two")
WARPLOOM_GROWTH_MUTANT(decides_what_was_refused, 2, 1, "no memory for what moves")
WARPLOOM_GROWTH_MUTANT(keeps_claims_of_a_copy, 2, 1, "found while it moves")
WARPLOOM_GROWTH_MUTANT(freezes_the_home_line_only, 2, 1, "first growth by two")
WARPLOOM_GROWTH_MUTANT(copies_the_home_line_only, 2, 1, "added in the second line while it moves")
WARPLOOM_GROWTH_MUTANT(copies_too_late, 3, 1, "copied when all is over")
#undef WARPLOOM_GROWTH_MUTANT

}  // namespace warploom::table::model
