#include "fold/shuffle.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "core/doors.hpp"
#include "fold/loops.hpp"
#include "fold/random.hpp"

namespace warploom::fold {
namespace {

constexpr int kLetters = 26;

template <class T>
void permute(T* begin, std::uint32_t count, Random& random) {
  for (std::uint32_t left = count; left > 1; --left) std::swap(begin[left - 1], begin[random.below(left)]);
}

/// The letters are nodes, each place between two letters an edge: a shuffle that keeps the edges is a walk
/// over all of them. Such a walk leaves each node but its end for the last time by edges that form a tree
/// towards the end; any such tree and any order of the other edges make a walk.
class Walks {
 public:
  explicit Walks(std::string_view s) : first_(node(s.front())), last_(node(s.back())), to_(s.size() - 1) {
    for (std::size_t k = 0; k + 1 < s.size(); ++k) ++begin_[static_cast<std::size_t>(node(s[k]) + 1)];
    for (std::size_t k = 0; k < kLetters; ++k) begin_[k + 1] += begin_[k];
    std::array<std::uint32_t, kLetters> end = {};
    std::copy_n(begin_.begin(), kLetters, end.begin());
    for (std::size_t k = 0; k + 1 < s.size(); ++k)
      to_[end[static_cast<std::size_t>(node(s[k]))]++] = static_cast<std::uint8_t>(node(s[k + 1]));
  }

  void draw(Random& random, std::string& out) {
    draw_last_edges(random);
    for (int v = 0; v < kLetters; ++v) {
      const std::uint32_t edges = count(v);
      if (edges == 0) continue;
      std::uint8_t* const to = to_.data() + begin_[static_cast<std::size_t>(v)];
      if (v != last_) std::swap(to[edges - 1], to[last_edge_[static_cast<std::size_t>(v)]]);
      permute(to, v == last_ ? edges : edges - 1, random);
    }
    std::array<std::uint32_t, kLetters> next = {};
    std::copy_n(begin_.begin(), kLetters, next.begin());
    int here = first_;
    for (char& letter : out) {
      letter = static_cast<char>('A' + here);
      if (&letter != &out.back()) here = to_[next[static_cast<std::size_t>(here)]++];
    }
  }

 private:
  static int node(char letter) { return letter - 'A'; }
  std::uint32_t count(int v) const {
    return begin_[static_cast<std::size_t>(v) + 1] - begin_[static_cast<std::size_t>(v)];
  }

  /// A tree towards the end, each with the probability that independent draws form it: walks from each node
  /// until the tree is met, of whose loops nothing stays.
  void draw_last_edges(Random& random) {
    std::array<bool, kLetters> in_tree = {};
    in_tree[static_cast<std::size_t>(last_)] = true;
    const auto after = [&](int v) {
      return to_[begin_[static_cast<std::size_t>(v)] + last_edge_[static_cast<std::size_t>(v)]];
    };
    for (int from = 0; from < kLetters; ++from) {
      if (count(from) == 0) continue;
      for (int v = from; !in_tree[static_cast<std::size_t>(v)]; v = after(v))
        last_edge_[static_cast<std::size_t>(v)] = random.below(count(v));
      for (int v = from; !in_tree[static_cast<std::size_t>(v)]; v = after(v))
        in_tree[static_cast<std::size_t>(v)] = true;
    }
  }

  int first_, last_;
  std::array<std::uint32_t, kLetters + 1> begin_ = {};  // of a node's edges in to_
  std::vector<std::uint8_t> to_;                        // where edges lead
  std::array<std::uint32_t, kLetters> last_edge_ = {};  // of a node, among its own
};

}  // namespace

void shuffle_letters(std::string_view sequence, Shuffle kind, std::uint64_t seed, std::string& out) {
  Random random(seed);
  out.assign(sequence);
  if (kind == Shuffle::mononucleotides)
    permute(out.data(), static_cast<std::uint32_t>(out.size()), random);
  else if (sequence.size() > 2)
    Walks(sequence).draw(random, out);
}

std::uint64_t seed_of(std::uint64_t seed, std::int64_t window_begin, std::int64_t shuffle) {
  const std::uint64_t of_window = Random(seed ^ Random(static_cast<std::uint64_t>(window_begin))())();
  return Random(of_window + static_cast<std::uint64_t>(shuffle))();
}

std::string shuffled(std::string_view sequence, Shuffle kind, std::uint64_t seed) {
  if (kind != Shuffle::dinucleotides && kind != Shuffle::mononucleotides)
    refuse_enumerator(kind, "the shuffle");
  if (sequence.empty()) return {};
  std::string out;
  shuffle_letters(bases_of(sequence).letters, kind, seed, out);
  return out;
}

}  // namespace warploom::fold
