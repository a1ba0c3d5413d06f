// A block reads its tiles, runs their iterations, and writes its tiles.
#include <fmt/format.h>

#include <algorithm>

#include "tile/c/simplify.hpp"
#include "tile/kernels/transpose.hpp"

namespace warploom::tile {
namespace {

/// What must hold for a thread's iteration to be one of the nest's.
Expression inside(const ParallelChain& chain, const Transpose& found) {
  std::vector<Expression> conditions;
  for (const ThreadLoop* loop : {found.y, found.x}) {
    const Expression iterator = Expression::name(loop->loop.iterator);
    if (loop == found.cut.along) conditions.push_back(Expression::binary(">=", iterator, loop->least));
    conditions.push_back(Expression::binary("<", iterator, loop->end));
  }
  const std::vector<Expression> guards = chain.guards();
  conditions.insert(conditions.end(), guards.begin(), guards.end());
  return all_of(conditions);
}

class TransposeText {
 public:
  TransposeText(const CudaNames& names, const ParallelChain& chain, const Transpose& found)
      : names_(names),
        chain_(chain),
        found_(found),
        i_(found.y->loop.iterator),
        j_(found.x->loop.iterator),
        condition_(cuda_text(names, inside(chain, found))) {
    for (const Staged& staged : found.staged) tiles_.push_back(fresh_(staged.element.text + "_tile"));
    for (std::string* own : {&tx_, &ty_, &i0_, &j0_, &step_, &first_, &skipped_, &overlap_})
      *own = fresh_(*own);
    const int across = found.edge / kTransposeLanes;
    lanes_ = across == 1 ? tx_ : fmt::format("{} + {} % {} * {}", tx_, step_, across, kTransposeLanes);
    warps_ = across == 1 ? fmt::format("{} + {} * {}", ty_, step_, kTransposeWarps)
                         : fmt::format("{} + {} / {} * {}", ty_, step_, across, kTransposeWarps);
  }

  std::string text(const KernelSignature& signature) {
    writer_.open(kernel_signature(signature));
    declare();
    choose_tile();
    for (std::size_t s = 0; s < tiles_.size(); ++s)
      if (found_.staged[s].read) read_tile(s);
    if (found_.reads_tiles()) writer_.line("__syncthreads();");
    if (found_.writes_tiles()) {
      run({lanes_, condition_});
      writer_.line("__syncthreads();");
      write_tiles(last_lanes());
    } else {
      run(last_lanes());
    }
    writer_.close();
    return writer_.text();
  }

 private:
  /// Where neighbouring threads are in a tile, and which of them take part.
  struct Lanes {
    std::string index, condition;
  };

  const Cut& cut() const { return found_.cut; }
  /// By how much a tile and the next one overlap along the loop that is cut, and what is left of the tile.
  std::string overlap() const { return cut().always() ? std::to_string(cut().sector) : overlap_; }
  std::string piece() const {
    return cut().always() ? std::to_string(found_.edge - cut().sector)
                          : fmt::format("{} - {}", found_.edge, overlap_);
  }
  std::string piece_factor() const { return cut().always() ? piece() : "(" + piece() + ")"; }

  void declare() {
    for (std::size_t s = 0; s < tiles_.size(); ++s)
      writer_.line("__shared__ {} {}[{}][{}];  // [{}][{}], a column more against bank conflicts",
                   c_name(found_.staged[s].type), tiles_[s], found_.edge, found_.edge + 1, j_, i_);
    writer_.line("const int {} = threadIdx.x, {} = threadIdx.y;", tx_, ty_);
    if (cut().along && !cut().always())
      writer_.line("const int {} = {} ? 0 : {};  // of tiles along {}: none if rows of {} are whole sectors",
                   overlap_, cuda_text(names_, cut().rows_fit), cut().sector, cut().along->loop.iterator,
                   cut().element.text);
  }

  /// The block's tile, by its number.
  void choose_tile() {
    const Expression block = Expression::name("blockIdx.x"), piece = Expression::name(piece_factor()),
                     near_blocks = cuda_expression(names_, found_.blocks(found_.near(), piece)),
                     far_blocks = cuda_expression(names_, found_.blocks(found_.far(), piece)),
                     quotient = Expression::binary("/", block, near_blocks);
    first_of_tile(found_.near(), Expression::binary("%", block, near_blocks));
    first_of_tile(found_.far(), found_.z ? Expression::binary("%", quotient, far_blocks) : quotient);
    if (const ThreadLoop* z = found_.z)
      writer_.line("const int {} = {};", z->loop.iterator,
                   first_value(names_, *z, to_text(Expression::binary("/", quotient, far_blocks))));
  }
  void first_of_tile(const ThreadLoop& loop, const Expression& index) {
    const bool is_cut = &loop == cut().along;
    std::string start = fmt::format("{} * static_cast<int>({})",
                                    is_cut ? piece_factor() : std::to_string(found_.edge), to_text(index));
    if (is_cut) start += " - " + overlap();
    if (loop.least != Expression::integer(0)) start = cuda_text(names_, loop.least) + " + " + start;
    writer_.line("const int {} = {};", &loop == found_.x ? j0_ : i0_, start);
  }

  void open_steps() {
    writer_.line("#pragma unroll");
    writer_.open("for (int {0} = 0; {0} < {1}; ++{0})", step_, found_.steps());
  }
  /// The iteration of a thread's step, along each loop by lanes or by warps.
  void place(const std::string& along_i, const std::string& along_j) {
    writer_.line("const int {} = {} + {}, {} = {} + {};", i_, i0_, along_i, j_, j0_, along_j);
  }

  /// Through registers: all loads are under way before the first one is used.
  void read_tile(std::size_t s) {
    const Expression& element = found_.staged[s].element;
    const std::string values = fresh_(element.text + "_values");
    writer_.line("{} {}[{}];  // neighbouring threads along {}, as memory has it",
                 c_name(found_.staged[s].type), values, found_.steps(), i_);
    open_steps();
    if (may_read_anywhere(element.text)) {  // beyond the edge the last element will do
      writer_.line("const int {} = {};", i_, nearest(*found_.y, i0_ + " + " + lanes_));
      writer_.line("const int {} = {};", j_, nearest(*found_.x, j0_ + " + " + warps_));
      writer_.line("{}[{}] = load_with_line(&{});", values, step_, cuda_text(names_, element));
    } else {
      place(lanes_, warps_);
      writer_.line("if ({}) {}[{}] = {};", condition_, values, step_, cuda_text(names_, element));
    }
    writer_.close();
    open_steps();
    writer_.line("{}[{}][{}] = {}[{}];", tiles_[s], warps_, lanes_, values, step_);
    writer_.close();
  }
  /// Whether an element that the thread has no use for is there and does not change.
  bool may_read_anywhere(const std::string& array) const {
    const std::vector<Mention> all = mentions(chain_.body);
    return chain_.guards().empty() &&
           std::ranges::none_of(all, [&](const Mention& m) { return m.is_write && m.element.text == array; });
  }
  std::string nearest(const ThreadLoop& loop, const std::string& index) const {
    const std::string from =
        &loop == cut().along ? fmt::format("max({}, {})", index, cuda_text(names_, loop.least)) : index;
    return fmt::format("min({}, {})", from, cuda_text(names_, plus(loop.end, -1)));
  }

  /// Lanes of the kernel's last part, along the loop that is cut, if one is.
  Lanes last_lanes() {
    if (!cut().along) return {lanes_, condition_};
    const bool along_x = cut().along == found_.x;
    const std::map<std::string, Expression> first_of_row{
        {j_, Expression::name(along_x ? j0_ : fmt::format("({} + {})", j0_, ty_))},
        {i_, Expression::name(along_x ? fmt::format("({} + {})", i0_, ty_) : i0_)}};
    writer_.line(
        "// Each row of {} is cut where a sector of {} bytes begins; a thread's rows, {} apart, "
        "in the same place.",
        cut().element.text, kSectorBytes, kTransposeWarps);
    writer_.line("const auto {0} = reinterpret_cast<std::uintptr_t>({1}) / sizeof(*{1}) + {2};", first_,
                 cut().element.text, flat_index(names_, substitute(cut().element, first_of_row)));
    writer_.line("const int {} = {}{} - static_cast<int>({} % {});", skipped_,
                 cut().always() ? "" : overlap_ + " == 0 ? 0 : ", cut().sector, first_, cut().sector);
    return {skipped_ + " + " + lanes_, fmt::format("{} && {} < {}", condition_, lanes_, piece())};
  }

  /// The iterations, lanes along x; what is staged is in tiles.
  void run(const Lanes& lanes) {
    open_steps();
    place(warps_, lanes.index);
    CudaNames tiled = names_;
    tiled.instead = [&](const Expression& e) -> std::string {
      for (std::size_t s = 0; s < tiles_.size(); ++s)
        if (found_.staged[s].element == e) return fmt::format("{}[{}][{}]", tiles_[s], lanes.index, warps_);
      return "";
    };
    writer_.open("if ({})", lanes.condition);
    for (const Node& node : chain_.body) writer_.tree(cuda_tree(tiled, node));
    writer_.close();
    writer_.close();
  }

  void write_tiles(const Lanes& lanes) {
    open_steps();
    place(lanes.index, warps_);
    writer_.open("if ({})", lanes.condition);
    for (std::size_t s = 0; s < tiles_.size(); ++s)
      if (found_.staged[s].written)
        writer_.line("{} = {}[{}][{}];", cuda_text(names_, found_.staged[s].element), tiles_[s], warps_,
                     lanes.index);
    writer_.close();
    writer_.close();
  }

  const CudaNames& names_;
  const ParallelChain& chain_;
  const Transpose& found_;
  const std::string &i_, &j_;
  const std::string condition_;
  FreshNames fresh_{names_};
  std::vector<std::string> tiles_;
  std::string tx_ = "tx", ty_ = "ty", i0_ = i_ + "0", j0_ = j_ + "0", step_ = "step", first_ = "first",
              skipped_ = "skipped", overlap_ = "overlap";
  std::string lanes_, warps_;  ///< a thread's places in a tile: along neighbouring threads, and across
  TextWriter writer_;
};

}  // namespace

std::string transpose_text(const KernelSignature& signature, const ParallelChain& chain,
                           const Transpose& found) {
  return TransposeText(signature.names, chain, found).text(signature);
}

}  // namespace warploom::tile
