#include "count/super_kmers.hpp"

#include "core/instruction_sets.hpp"

namespace warploom::table {

const CutLoops& cut_loops() {
  static const CutLoops& loops = *WARPLOOM_PICK(cut_loops);
  return loops;
}

}  // namespace warploom::table
