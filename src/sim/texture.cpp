// Textures and surfaces: tex, tld4, txq, suld, sust, sured and suq through handles ("bindless"). Filtering as
// the CUDA programming guide, "Texture Fetching", has it: weights have 8 bits behind the point.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "sim/access.hpp"
#include "sim/decode.hpp"
#include "sim/tensor_sum.hpp"
#include "sim/texture_form.hpp"
#include "sim/texture_place.hpp"

namespace warploom::sim {

using namespace ptx;

namespace {

void illegal(Warp& w, const Step& s, unsigned lane, std::string why) {
  fault(w, s, FindingKind::illegal, lane, s.run == nullptr ? "" : "texture", std::move(why));
}

const TextureForm& form_of_step(const Warp& w, const Step& s) { return w.block->program->textures[s.extra]; }

/// What a lane's handle means. Nothing: a finding ended the kernel.
std::optional<TexturePlan> plan_of(Warp& w, const Step& s, unsigned lane, bool surface) {
  const TextureForm& form = form_of_step(w, s);
  std::uint64_t address[kLanes] = {};
  address[lane] = w.read<std::uint64_t>(form.handle)[lane];
  const Allocation* owner = w.block->worker->memory->page_owner(address[lane]);
  std::optional<TexturePlan> plan;
  if (owner != nullptr && owner->contains(address[lane], 128))
    plan = texture_plan(owner->data.get() + (address[lane] - owner->begin));
  if (!plan || plan->surface != surface) {
    illegal(w, s, lane,
            fmt::format("its handle, {:#x}, is none of a {} ({}:TYPE:EXTENTS:CHANNELS:FILL makes one)",
                        address[lane], surface ? "surface" : "texture", surface ? "surface" : "texture"));
    return {};
  }
  // A cube has six layers; several are layered themselves.
  const bool layered = plan->cube ? plan->layers > 6 : plan->layers != 0;
  if (plan->cube != form.cube) {
    illegal(w, s, lane,
            fmt::format("the texture is {}a cube, the instruction is for {}", plan->cube ? "" : "not ",
                        form.cube ? "one" : "others"));
    return {};
  }
  if (plan->dimensions != form.dimensions || layered != form.layered) {
    illegal(w, s, lane,
            fmt::format("the {} has {} dimensions and {} layers, the instruction is for {} dimensions{}",
                        surface ? "surface" : "texture", plan->dimensions, plan->layers, form.dimensions,
                        form.layered ? " and layers" : ""));
    return {};
  }
  return plan;
}

/// Channels of one texel as bits; nothing outside.
struct Texel {
  std::array<std::uint32_t, 4> bits{};
};

/// A texel of the texture, at coordinates within it.
bool read_texel(Warp& w, const Step& s, unsigned lane, const TexturePlan& plan, const std::uint32_t (&at)[3],
                std::uint32_t layer, Texel& to) {
  std::uint64_t address[kLanes] = {};
  address[lane] = plan.row(at[1], at[2], layer) + std::uint64_t{at[0]} * plan.texel_bytes();
  Pointers from;
  if (!resolve(w, s, Space::global, address, Mask{1} << lane, plan.texel_bytes(), plan.channel_bytes, false,
               from))
    return false;
  for (unsigned c = 0; c < plan.channels; ++c) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, from.at[lane] + c * plan.channel_bytes, plan.channel_bytes);
    if (plan.kind == TexturePlan::signed_ && plan.channel_bytes < 4) {
      const unsigned unused = 32 - 8 * plan.channel_bytes;
      bits = static_cast<std::uint32_t>(static_cast<std::int32_t>(bits << unused) >> unused);
    }
    to.bits[c] = bits;
  }
  return true;
}

/// A channel as a number: of floats, or of integers that are read as floats.
float number(const TexturePlan& plan, std::uint32_t bits) {
  if (plan.kind == TexturePlan::real)
    return std::bit_cast<float>(plan.channel_bytes == 2 ? float_of(Element::f16, bits) : bits);
  const float most = plan.kind == TexturePlan::signed_ ? (plan.channel_bytes == 1 ? 127.f : 32767.f)
                                                       : (plan.channel_bytes == 1 ? 255.f : 65535.f);
  if (plan.kind == TexturePlan::signed_)
    return std::max(static_cast<float>(static_cast<std::int32_t>(bits)) / most, -1.f);
  return static_cast<float>(bits) / most;
}

std::uint32_t layer_of(const Warp& w, const TextureForm& form, const TexturePlan& plan, unsigned lane) {
  if (!form.layered) return 0;
  return std::min(w.read<std::uint32_t>(form.coordinates[0])[lane],
                  (plan.cube ? plan.layers / 6 : plan.layers) - 1);
}

float coordinate_of(const Warp& w, const TextureForm& form, unsigned d, unsigned lane) {
  return w.read<float>(form.coordinates[d + (form.layered ? 1 : 0)])[lane];
}

/// The channels that a fetch gives, as bits of the result's type; absent ones are 0, 0 and 1.
void store_values(Warp& w, const TextureForm& form, unsigned lane, const std::array<std::uint32_t, 4>& bits) {
  for (unsigned i = 0; i < form.count; ++i) w.write<std::uint32_t>(form.values[i])[lane] = bits[i];
}

/// What a fetch gives: as bits, or where it filters as numbers.
struct Fetched {
  std::array<std::uint32_t, 4> bits{};
  std::array<float, 4> sums{};
};

/// Of one level. False: a finding ended the kernel.
bool fetch(Warp& w, const Step& s, unsigned lane, const TexturePlan& plan, const float (&coordinates)[3],
           const std::int32_t (&whole)[3], std::uint32_t layer, bool filtered, Fetched& to) {
  const TextureForm& form = form_of_step(w, s);
  const bool floats = plan.kind == TexturePlan::real || plan.as_floats;
  Along places[3];
  for (unsigned d = 0; d < form.dimensions; ++d) {
    if (form.integer_coordinates)
      places[d].first = whole[d];
    else
      places[d] = along(plan, d, coordinates[d], filtered);
  }
  const unsigned corners = filtered ? 1u << form.dimensions : 1u;
  for (unsigned corner = 0; corner < corners; ++corner) {
    std::int32_t weight = 1;
    std::uint32_t at[3] = {};
    bool outside = false;
    for (unsigned d = 0; d < form.dimensions; ++d) {
      const bool next = (corner >> d & 1) != 0;
      if (filtered) weight *= next ? places[d].weight : (1 << kWeightBits) - places[d].weight;
      const std::int64_t i = inside(places[d].first + (next ? 1 : 0), plan.extents[d],
                                    form.integer_coordinates ? Texture::Edge::border : plan.edges[d]);
      outside |= i < 0;
      at[d] = static_cast<std::uint32_t>(std::max<std::int64_t>(i, 0));
    }
    if (weight == 0 || outside) continue;
    Texel texel;
    if (!read_texel(w, s, lane, plan, at, layer, texel)) return false;
    for (unsigned c = 0; c < plan.channels; ++c) {
      if (!filtered)
        to.bits[c] = floats ? std::bit_cast<std::uint32_t>(number(plan, texel.bits[c])) : texel.bits[c];
      else
        to.sums[c] +=
            std::ldexp(static_cast<float>(weight), -kWeightBits * static_cast<int>(form.dimensions)) *
            number(plan, texel.bits[c]);
    }
  }
  return true;
}

/// Of a mipmap, in 1/256 of a level: where a lane's fetch is.
std::int64_t level_of(const Warp& w, const TextureForm& form, const TexturePlan& plan, unsigned lane) {
  if (plan.levels == 1 || form.level == TextureForm::first) return 0;
  float level = 0;
  if (form.level == TextureForm::given) {
    level = form.integer_coordinates ? static_cast<float>(w.read<std::int32_t>(form.gradient[0])[lane])
                                     : w.read<float>(form.gradient[0])[lane];
  } else {
    // The longer of both steps, in texels.
    double longest = 0;
    for (unsigned which = 0; which < 2; ++which) {
      double square = 0;
      for (unsigned d = 0; d < form.dimensions; ++d) {
        const double step = double{w.read<float>(form.gradient[3 * which + d])[lane]} *
                            (plan.normalised ? plan.extents[d] : 1);
        square += step * step;
      }
      longest = std::max(longest, square);
    }
    level = static_cast<float>(std::log2(longest) / 2);
  }
  const auto most = static_cast<float>(plan.levels - 1);
  level = std::isnan(level) ? 0 : std::clamp(level, 0.f, most);
  // Of weights a level has the bits that it is rounded to; the nearest level is found before that.
  if (!plan.between_levels)
    return static_cast<std::int64_t>(std::floor(double{level} + .5)) * (1 << kWeightBits);
  return static_cast<std::int64_t>(std::floor(level * (1 << kWeightBits) + .5f));
}

/// tex.
void run_fetch(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  const TextureForm& form = form_of_step(w, s);
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const std::optional<TexturePlan> plan = plan_of(w, s, lane, false);
    if (!plan) return;
    std::uint32_t layer = layer_of(w, form, *plan, lane);
    const bool floats = plan->kind == TexturePlan::real || plan->as_floats;
    const bool filtered = plan->linear && !form.integer_coordinates;
    float coordinates[3] = {};
    std::int32_t whole[3] = {};
    for (unsigned d = 0; d < (form.cube ? 3 : form.dimensions); ++d) {
      coordinates[d] = coordinate_of(w, form, d, lane);
      whole[d] = std::bit_cast<std::int32_t>(coordinates[d]);
    }
    if (form.cube) {
      const Face face = face_of(coordinates[0], coordinates[1], coordinates[2]);
      layer = 6 * layer + face.number;
      coordinates[0] = face.s, coordinates[1] = face.t;
    }
    const std::int64_t level = level_of(w, form, *plan, lane);
    constexpr std::int64_t kHalf = 1 << (kWeightBits - 1), kOne = 1 << kWeightBits;
    const auto lower = static_cast<std::uint32_t>((plan->between_levels ? level : level + kHalf) / kOne);
    const auto weight = static_cast<float>(level % kOne) / kOne;
    Fetched here;
    if (!fetch(w, s, lane, plan->level(lower), coordinates, whole, layer, filtered, here)) return;
    if (plan->between_levels && weight != 0) {
      Fetched next;
      if (!fetch(w, s, lane, plan->level(lower + 1), coordinates, whole, layer, filtered, next)) return;
      for (unsigned c = 0; c < plan->channels; ++c) {
        const float a = filtered ? here.sums[c] : std::bit_cast<float>(here.bits[c]),
                    b = filtered ? next.sums[c] : std::bit_cast<float>(next.bits[c]);
        here.sums[c] = (1 - weight) * a + weight * b;
      }
    }
    if (filtered || (plan->between_levels && weight != 0))
      for (unsigned c = 0; c < plan->channels; ++c) here.bits[c] = std::bit_cast<std::uint32_t>(here.sums[c]);
    if (plan->channels < 4) here.bits[3] = floats ? std::bit_cast<std::uint32_t>(1.f) : 1;
    if (form.half) {
      for (unsigned i = 0; i < 2; ++i) {
        std::uint32_t pair = 0;
        for (unsigned c = 0; c < 2; ++c) pair |= half_of_single(here.bits[2 * i + c]) << (16 * c);
        w.write<std::uint32_t>(form.values[i])[lane] = pair;
      }
      continue;
    }
    store_values(w, form, lane, here.bits);
  }
}

/// tld4: one channel of the four texels that a filter would use, from the lower left against the clock.
void run_gather(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  const TextureForm& form = form_of_step(w, s);
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const std::optional<TexturePlan> plan = plan_of(w, s, lane, false);
    if (!plan) return;
    const std::uint32_t layer = layer_of(w, form, *plan, lane);
    const bool floats = plan->kind == TexturePlan::real || plan->as_floats;
    const Along x = along(*plan, 0, coordinate_of(w, form, 0, lane), true),
                y = along(*plan, 1, coordinate_of(w, form, 1, lane), true);
    constexpr unsigned kRight[4] = {0, 1, 1, 0}, kBelow[4] = {1, 1, 0, 0};
    std::array<std::uint32_t, 4> bits{};
    for (unsigned i = 0; i < 4; ++i) {
      const std::int64_t column = inside(x.first + kRight[i], plan->extents[0], plan->edges[0]),
                         row = inside(y.first + kBelow[i], plan->extents[1], plan->edges[1]);
      if (column < 0 || row < 0 || form.component >= plan->channels) continue;
      Texel texel;
      if (!read_texel(w, s, lane, *plan,
                      {static_cast<std::uint32_t>(column), static_cast<std::uint32_t>(row), 0}, layer, texel))
        return;
      const std::uint32_t raw = texel.bits[form.component];
      bits[i] = floats ? std::bit_cast<std::uint32_t>(number(*plan, raw)) : raw;
    }
    store_values(w, form, lane, bits);
  }
}

/// txq and suq.
void run_query(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  const TextureForm& form = form_of_step(w, s);
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const Address handle = w.read<std::uint64_t>(form.handle)[lane];
    const Allocation* owner = w.block->worker->memory->page_owner(handle);
    std::optional<TexturePlan> plan;
    if (owner != nullptr && owner->contains(handle, 128))
      plan = texture_plan(owner->data.get() + (handle - owner->begin));
    if (!plan)
      return illegal(w, s, lane, fmt::format("its handle, {:#x}, is none of a texture or surface", handle));
    const std::uint32_t answers[] = {plan->extents[0], plan->dimensions > 1 ? plan->extents[1] : 0,
                                     plan->dimensions > 2 ? plan->extents[2] : 0, plan->layers, plan->levels};
    w.write<std::uint32_t>(form.values[0])[lane] = answers[form.asked];
  }
}

/// istypep: asked is width of textures, height of surfaces.
void run_is_type(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  const TextureForm& form = form_of_step(w, s);
  Mask is = 0;
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const Address handle = w.read<std::uint64_t>(form.handle)[lane];
    const Allocation* owner = w.block->worker->memory->page_owner(handle);
    if (owner == nullptr || !owner->contains(handle, 128)) continue;
    const auto plan = texture_plan(owner->data.get() + (handle - owner->begin));
    if (plan && (form.asked == TextureForm::width ? !plan->surface
                                                  : form.asked == TextureForm::height && plan->surface))
      is |= Mask{1} << lane;
  }
  Mask& to = w.predicate(s.destination);
  to = (to & ~lanes) | is;
}

/// Where a lane's surface access lies. Nothing where it is outside and does nothing, or (with w.stop) a
/// finding ended the kernel.
std::optional<Address> surface_place(Warp& w, const Step& s, const TextureForm& form, const TexturePlan& plan,
                                     unsigned lane) {
  const unsigned bytes = form.count * form.bytes, first = form.layered ? 1 : 0;
  std::int64_t at[3] = {};
  bool out = false;
  for (unsigned d = 0; d < form.dimensions; ++d) {
    // x counts bytes.
    const std::int64_t least_beyond =
        d == 0 ? std::int64_t{plan.extents[0]} * plan.texel_bytes() : plan.extents[d];
    const std::int64_t step = d == 0 ? bytes : 1;
    at[d] = w.read<std::int32_t>(form.coordinates[first + d])[lane];
    if (at[d] >= 0 && at[d] + step <= least_beyond) continue;
    if (form.outside == TextureForm::clamp)
      at[d] = at[d] < 0 ? 0 : least_beyond - step;
    else
      out = true;
  }
  std::uint32_t layer = 0;
  if (form.layered) {
    layer = w.read<std::uint32_t>(form.coordinates[0])[lane];
    if (layer >= plan.layers) {
      out |= form.outside != TextureForm::clamp;
      layer = plan.layers - 1;
    }
  }
  if (out) {
    if (form.outside == TextureForm::trap)
      fault(w, s, FindingKind::out_of_bounds, lane, "access to a surface",
            fmt::format("byte {}, row {}, slice {}, layer {} of a surface of {} x {} x {} texels of {} bytes",
                        at[0], at[1], at[2], layer, plan.extents[0], plan.extents[1], plan.extents[2],
                        plan.texel_bytes()));
    return {};
  }
  return plan.row(static_cast<std::uint32_t>(at[1]), static_cast<std::uint32_t>(at[2]), layer) +
         static_cast<std::uint64_t>(at[0]);
}

enum class SurfaceAccess : std::uint8_t { load, store, reduce };

template <typename T>
T reduced(const TextureForm& form, T before, T by) {
  using S = std::make_signed_t<T>;
  const bool less = form.is_signed ? static_cast<S>(by) < static_cast<S>(before) : by < before;
  switch (form.change) {
    case TextureForm::add:
      return static_cast<T>(before + by);
    case TextureForm::least:
      return less ? by : before;
    case TextureForm::most:
      return less ? before : by;
    case TextureForm::and_:
      return before & by;
    default:
      return before | by;
  }
}

template <typename T>
void reduce(const TextureForm& form, std::byte* at, T by) {
  T before = load_relaxed<T>(at);
  while (!__atomic_compare_exchange_n(reinterpret_cast<T*>(at), &before, reduced(form, before, by), false,
                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

template <SurfaceAccess what>
void run_surface(Registers& r, const Step& s, Mask lanes) {
  Warp& w = warp_of(r);
  const TextureForm& form = form_of_step(w, s);
  const auto value_at = [&](Source at, unsigned lane) {
    return r.base[at.constant] + at.offset + std::size_t{lane} * form.register_bytes;
  };
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const std::optional<TexturePlan> plan = plan_of(w, s, lane, true);
    if (!plan) return;
    const std::optional<Address> place = surface_place(w, s, form, *plan, lane);
    if (w.stop == Stop::halt) return;
    if (!place) {
      if constexpr (what == SurfaceAccess::load)
        for (unsigned i = 0; i < form.count; ++i)
          std::memset(value_at(in_registers(form.values[i]), lane), 0, form.register_bytes);
      continue;
    }
    std::uint64_t address[kLanes] = {};
    address[lane] = *place;
    const unsigned bytes = form.count * form.bytes;
    Pointers to;
    if (!resolve(w, s, Space::global, address, Mask{1} << lane, bytes, bytes, what != SurfaceAccess::load,
                 to))
      return;
    MemoryForm memory;
    memory.bytes = static_cast<std::uint8_t>(bytes);
    if (what == SurfaceAccess::reduce) memory.strength = Strength::relaxed, memory.scope = Scope::gpu;
    note_access(w, s, memory, to,
                what == SurfaceAccess::load    ? Access::read
                : what == SurfaceAccess::store ? Access::write
                                               : Access::atomic);
    for (unsigned i = 0; i < form.count; ++i) {
      std::byte* const there = to.at[lane] + i * form.bytes;
      if constexpr (what == SurfaceAccess::load) {
        std::byte* const here = value_at(in_registers(form.values[i]), lane);
        std::memset(here, 0, form.register_bytes);
        std::memcpy(here, there, form.bytes);
      } else if constexpr (what == SurfaceAccess::store) {
        std::memcpy(there, value_at(form.stored[i], lane), form.bytes);
      } else if (form.bytes == 8) {
        std::uint64_t by;
        std::memcpy(&by, value_at(form.stored[i], lane), 8);
        reduce(form, there, by);
      } else {
        std::uint32_t by;
        std::memcpy(&by, value_at(form.stored[i], lane), 4);
        reduce(form, there, by);
      }
    }
  }
}

}  // namespace

bool Decoder::texture_operation() {
  const Op op = opcode->op;
  if (op == Op::istypep) {
    TextureForm form;
    form.handle = source(operands[1], 8);
    form.asked = opcode->has("surfref")  ? TextureForm::height
                 : opcode->has("texref") ? TextureForm::width
                                         : TextureForm::depth;
    step.destination = destination(operands[0], 0);
    step.extra = static_cast<std::uint32_t>(program.textures.size());
    program.textures.push_back(form);
    step.run = &run_is_type;
    return true;
  }
  if (op != Op::tex && op != Op::tld4 && op != Op::txq && op != Op::suld && op != Op::sust &&
      op != Op::sured && op != Op::suq)
    return false;
  TextureForm form;
  std::vector<Type> types;
  bool geometry = false, known = false;
  const bool surface = op == Op::suld || op == Op::sust || op == Op::sured,
             query = op == Op::txq || op == Op::suq;
  constexpr std::pair<std::string_view, TextureForm::What> kQuestions[] = {
      {"width", TextureForm::width},
      {"height", TextureForm::height},
      {"depth", TextureForm::depth},
      {"array_size", TextureForm::layers},
      {"num_mipmap_levels", TextureForm::levels}};
  constexpr std::pair<std::string_view, TextureForm::Change> kChanges[] = {{"add", TextureForm::add},
                                                                           {"min", TextureForm::least},
                                                                           {"max", TextureForm::most},
                                                                           {"and", TextureForm::and_},
                                                                           {"or", TextureForm::or_}};
  for (std::size_t i = 1; i < opcode->parts.size(); ++i) {
    const std::string_view part = opcode->parts[i];
    const auto question =
        std::find_if(std::begin(kQuestions), std::end(kQuestions), [&](auto& q) { return q.first == part; });
    const auto change =
        std::find_if(std::begin(kChanges), std::end(kChanges), [&](auto& c) { return c.first == part; });
    if (const Type type = type_of(part); type.kind != Type::none) {
      types.push_back(type);
    } else if (part == "1d" || part == "2d" || part == "3d" || part == "a1d" || part == "a2d") {
      geometry = true;
      form.layered = part[0] == 'a';
      form.dimensions = static_cast<unsigned>(part[part.size() - 2] - '0');
    } else if ((part == "cube" || part == "acube") && op == Op::tex) {
      geometry = form.cube = true;
      form.layered = part[0] == 'a';
      form.dimensions = 2;
    } else if (part == "v2" || part == "v4" || part == "base" || part == "b" || part == "level" ||
               part == "grad") {
      if (part == "b" && !surface && op != Op::tld4) unsupported();
      if (part == "b" && op == Op::tld4) form.component = 2;
      if ((part == "level" || part == "grad") && op != Op::tex) unsupported();
      if (part == "level") form.level = TextureForm::given;
      if (part == "grad") form.level = TextureForm::by_gradient;
    } else if (op == Op::tld4 && (part == "r" || part == "g" || part == "a")) {
      form.component = part == "r" ? 0 : part == "g" ? 1 : 3;
    } else if (surface && (part == "trap" || part == "clamp" || part == "zero")) {
      form.outside = part == "trap"    ? TextureForm::trap
                     : part == "clamp" ? TextureForm::clamp
                                       : TextureForm::zero;
    } else if (surface && (part == "ca" || part == "cg" || part == "cs" || part == "cv" || part == "wb" ||
                           part == "wt")) {
      // how it is cached
    } else if (query && question != std::end(kQuestions)) {
      form.asked = question->second;
      known = true;
    } else if (op == Op::sured && change != std::end(kChanges)) {
      form.change = change->second;
      known = true;
    } else {
      unsupported();
    }
  }
  step.extra = static_cast<std::uint32_t>(program.textures.size());
  const std::size_t at = op == Op::sust || op == Op::sured ? 0 : 1;
  if (operands.size() <= at || operands[at].kind != OperandKind::address) unsupported();
  const auto inside_of = function->children(operands[at]);
  if (inside_of.empty() || inside_of[0].kind != OperandKind::reg || operands[at].value != 0)
    unsupported("a texture or surface that is not a handle");
  form.handle = source(inside_of[0], 8);
  if (query) {
    if (!known || operands.size() != 2) unsupported();
    form.values[0] = destination(operands[0], 4);
    program.textures.push_back(form);
    step.run = &run_query;
    return true;
  }
  if (!geometry || inside_of.size() != 2) unsupported();
  const Operand& coordinates = inside_of[1];
  const auto given = coordinates.kind == OperandKind::vector ? function->children(coordinates)
                                                             : std::span<const Operand>(&coordinates, 1);
  const unsigned wanted = (form.cube ? 3 : form.dimensions) + (form.layered ? 1 : 0);
  if (given.size() < wanted || given.size() > 4) unsupported("this number of coordinates");
  for (unsigned i = 0; i < wanted; ++i)
    form.coordinates[i] = source(given[i], 4, given[i].kind == OperandKind::real);
  const Operand& value = operands[at == 0 ? 1 : 0];
  const auto values =
      value.kind == OperandKind::vector ? function->children(value) : std::span<const Operand>(&value, 1);
  if (values.size() > 4) unsupported();
  form.count = static_cast<unsigned>(values.size());
  if (surface) {
    if (types.size() != 1 || types[0].packed != 1 || (op == Op::sured && (!known || form.count != 1)))
      unsupported();
    form.bytes = types[0].bytes();
    form.is_signed = types[0].kind == Type::s;
    form.register_bytes = register_bytes(values[0], std::max(2u, form.bytes));
    if (form.register_bytes < form.bytes || (op == Op::sured && form.bytes < 4) ||
        form.count * form.bytes > 16)
      unsupported();
    for (unsigned i = 0; i < form.count; ++i) {
      if (op == Op::suld)
        form.values[i] = destination(values[i], form.register_bytes);
      else
        form.stored[i] = source(values[i], form.register_bytes);
    }
    step.run = op == Op::suld   ? &run_surface<SurfaceAccess::load>
               : op == Op::sust ? &run_surface<SurfaceAccess::store>
                                : &run_surface<SurfaceAccess::reduce>;
    if (op != Op::suld) program.communicates = true;  // blocks may read what others wrote
  } else {
    form.half = types.size() == 2 && types[0].packed == 2 && types[0].kind == Type::f && op == Op::tex;
    if (types.size() != 2 || types[0].bits * types[0].packed != 32 || form.count != (form.half ? 2u : 4u) ||
        (form.cube && (types[1].kind != Type::f || form.level == TextureForm::by_gradient)) ||
        (types[1].kind == Type::s && op == Op::tld4) || (op == Op::tld4 && form.dimensions != 2))
      unsupported();
    const std::size_t more = opcode->has("level") ? 1 : opcode->has("grad") ? 2 : 0;
    if (operands.size() != 2 + more) unsupported();
    form.integer_coordinates = types[1].kind == Type::s;
    if (form.level == TextureForm::given)
      form.gradient[0] = source(operands[2], 4, operands[2].kind == OperandKind::real);
    for (unsigned which = 0; form.level == TextureForm::by_gradient && which < 2; ++which) {
      const Operand& steps = operands[2 + which];
      const auto parts =
          steps.kind == OperandKind::vector ? function->children(steps) : std::span<const Operand>(&steps, 1);
      if (parts.size() < form.dimensions) unsupported("this number of gradients");
      for (unsigned d = 0; d < form.dimensions; ++d)
        form.gradient[3 * which + d] = source(parts[d], 4, parts[d].kind == OperandKind::real);
    }
    for (unsigned i = 0; i < form.count; ++i) form.values[i] = destination(values[i], 4);
    step.run = op == Op::tex ? &run_fetch : &run_gather;
  }
  program.textures.push_back(form);
  return true;
}

}  // namespace warploom::sim
