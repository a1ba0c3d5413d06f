// How several devices share an image, with arrays for devices. What a machine is asked to do is written down
// first: then it is looked for what two do with the same plane without an order between them, and all is done
// in orders that the waits allow, as far from each other as can be. Results must be those of one device.
#include "imaging/tv_team.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <tuple>

#include "imaging/tv_schedule.hpp"
#include "oracle/phantom.hpp"
#include "warploom/core/error.hpp"

namespace warploom::imaging::team {
namespace {

constexpr int kNx = 5, kNy = 4, kPlane = kNx * kNy, kChannels = 2;

struct Cut {
  int nz, chunk, devices;
};

/// What is read or written at once: a plane of an array (all channels), the partial sums of a chunk, a state.
using Place = std::tuple<int, const void*, int>;  // device, array, plane

struct Operation {
  std::vector<std::size_t> after;
  std::vector<Place> reads, writes;
  std::function<void()> run;
};

struct Device {
  TvShare share;
  std::vector<float> memory;
  TvImages images;
  std::vector<TvLaunch> launches;  // of the pass that is asked for
  std::vector<double> partials[2];
  AcceleratedState accelerated;
  PrimalDualState primal_dual;
  std::vector<TvProgress> log;

  std::int64_t stride() const { return std::int64_t{kPlane} * (share.planes + 2); }
  /// Of plane z, which is the device's or next to one.
  std::int64_t at(int channel, int z) const {
    return channel * stride() + std::int64_t{kPlane} * (z - share.first_plane + 1);
  }
};

/// Values from -1 to 1.
float noise(int channel, int voxel) {
  std::minstd_rand engine(static_cast<unsigned>(channel * 1000003 + voxel + 1));
  engine.discard(3);
  return static_cast<float>(engine() % 2001) / 1000 - 1;
}

/// Writes down what a TvTeam asks of it.
class Machine {
 public:
  Machine(Solver solver, const Cut& cut, std::optional<TvMark> deaf)
      : solver_(solver),
        nz_(cut.nz),
        chunk_(cut.chunk),
        chunks_((cut.nz + cut.chunk - 1) / cut.chunk),
        deaf_(deaf) {
    constants_.channels = kChannels;
    constants_.max_iterations = 6;
    constants_.lambda = 2;
    constants_.epsilon = solver == Solver::primal_dual ? 0 : 1e-2;
    constants_.tolerance = 1e-12;
    constants_.voxels = kPlane * nz_;
    constants_.gradient_bound = 12;
    for (double& h : constants_.inverse_spacing) h = 1;
    for (int c = 0; c < kChannels; ++c) constants_.weights[c] = 1;
    for (const TvShare& share : tv_shares(cut.nz, cut.chunk, cut.devices)) devices_.push_back(make(share));
  }

  /// Before the passes, and more of them than the solver does.
  void ask() {
    TvTeam<Machine> team(*this, tv_shares(nz_, chunk_, static_cast<int>(devices_.size())));
    const auto pass = [&](const auto& launches_of) {
      for (Device& device : devices_) device.launches = launches_of(device);
      if (devices_[0].launches.empty()) return;
      std::vector<TvKernel> kernels;
      for (const TvLaunch& launch : devices_[0].launches) kernels.push_back(launch.kernel);
      team.pass(kernels);
      parity_ ^= 1;
    };
    pass([&](const Device& device) { return first_launches(solver_, device.images); });
    for (std::int64_t k = 0; k < constants_.max_iterations + 3; ++k)
      pass([&](const Device& device) { return pass_launches(solver_, device.images, k); });
  }

  // What a TvTeam asks for.

  void mark(int d, TvQueue queue, TvMark mark) { marks_[{d, mark}] = last_[{d, queue}]; }
  void wait(int d, TvQueue queue, int of, TvMark mark) {
    const auto found = marks_.find({of, mark});
    if (found == marks_.end() || mark == deaf_) return;
    for (const std::size_t operation : found->second) last_[{d, queue}].insert(operation);
  }
  void launch(int d, TvQueue queue, int index, int first_chunk, int chunks) {
    Device& device = devices_[static_cast<std::size_t>(d)];
    const TvLaunch launch = device.launches[static_cast<std::size_t>(index)];
    const TvPlanes& planes = launch.planes;
    Operation operation;
    operation.reads.push_back({d, &device.log, 0});
    const int first = first_chunk * chunk_, end = std::min(nz_, (first_chunk + chunks) * chunk_);
    const auto touch = [&](std::vector<Place>& places, const float* array, int from, int to) {
      if (array != nullptr)
        for (int z = std::max(from, 0); z < std::min(to, nz_); ++z) places.push_back({d, array, z});
    };
    const bool dual = launch.kernel == TvKernel::dual, halves = dual || launch.kernel >= TvKernel::primal;
    if (!dual) touch(operation.reads, planes.noisy, first, end);
    touch(operation.reads, planes.x, halves ? first : first - 1, halves && !dual ? end : end + 1);
    touch(operation.reads, planes.before, halves ? first : first - 1, end + 1);
    if (halves) touch(dual ? operation.writes : operation.reads, planes.p, dual ? first : first - 1, end);
    touch(operation.writes, planes.next, first, end);
    for (int chunk = first_chunk; chunk < first_chunk + chunks; ++chunk)
      operation.writes.push_back({d, &device.partials[parity_], chunk + (dual ? 1000 : 0)});
    operation.run = [this, &device, launch, first_chunk, chunks, partials = device.partials[parity_].data()] {
      if (!device.log.empty() && device.log.back().done) return;
      for (int chunk = first_chunk; chunk < first_chunk + chunks; ++chunk)
        compute(device, launch, chunk, partials);
    };
    add(d, queue, std::move(operation));
  }
  void send_plane(int from, int to, int index) {
    Device &source = devices_[static_cast<std::size_t>(from)],
           &target = devices_[static_cast<std::size_t>(to)];
    const auto array = [&](const Device& device) {
      const TvLaunch& launch = device.launches[static_cast<std::size_t>(index)];
      return launch.kernel == TvKernel::dual ? launch.planes.p : launch.planes.next;
    };
    const int z = to < from ? source.share.first_plane : source.share.first_plane + source.share.planes - 1;
    Operation operation;
    operation.reads = {{from, array(source), z}};
    operation.writes = {{to, array(target), z}};
    // Of p the third component counts alone.
    const bool dual = source.launches[static_cast<std::size_t>(index)].kernel == TvKernel::dual;
    operation.run = [&source, &target, z, dual, a = array(source), b = array(target)] {
      for (int c = 0; c < kChannels; ++c)
        std::copy_n(a + (dual ? 2 * kChannels * source.stride() : 0) + source.at(c, z), kPlane,
                    b + (dual ? 2 * kChannels * target.stride() : 0) + target.at(c, z));
    };
    add(from, TvQueue::send, std::move(operation));
  }
  void send_sums(int from, int to) {
    Device &source = devices_[static_cast<std::size_t>(from)],
           &target = devices_[static_cast<std::size_t>(to)];
    Operation operation;
    for (int chunk = source.share.first_chunk; chunk < source.share.first_chunk + source.share.chunks;
         ++chunk)
      for (const int half : {0, 1000}) {
        operation.reads.push_back({from, &source.partials[parity_], chunk + half});
        operation.writes.push_back({to, &target.partials[parity_], chunk + half});
      }
    operation.run = [this, share = source.share, a = source.partials[parity_].data(),
                     b = target.partials[parity_].data()] {
      for (int value = 0; value < kValues; ++value)
        std::copy_n(a + value * chunks_ + share.first_chunk, share.chunks,
                    b + value * chunks_ + share.first_chunk);
    };
    add(from, TvQueue::border, std::move(operation));
  }
  void advance(int d) {
    Device& device = devices_[static_cast<std::size_t>(d)];
    Operation operation;
    for (int chunk = 0; chunk < chunks_; ++chunk)
      for (const int half : {0, 1000})
        operation.reads.push_back({d, &device.partials[parity_], chunk + half});
    operation.writes = {{d, &device.log, 0}};
    const bool first = device.launches.back().kernel == TvKernel::primal_begin;
    operation.run = [this, &device, first, partials = device.partials[parity_].data()] {
      if (!device.log.empty() && device.log.back().done) return;
      double totals[kValues] = {};
      for (int value = 0; value < kValues; ++value)
        for (int chunk = 0; chunk < chunks_; ++chunk) totals[value] += partials[value * chunks_ + chunk];
      if (solver_ == Solver::primal_dual) {
        PrimalDualSums sums;
        std::copy_n(totals, kChannels, sums.tv);
        sums.fidelity = totals[kChannels];
        sums.dual = totals[kChannels + 1];
        if (first) return begin(device.primal_dual, sums.tv, sums.fidelity, constants_);
        imaging::advance(device.primal_dual, sums, constants_);
        device.log.push_back(device.primal_dual.progress);
      } else {
        TvSums sums;
        std::copy_n(totals, kChannels, sums.tv);
        sums.fidelity = totals[kChannels];
        sums.mapping = totals[kChannels + 1];
        sums.turn = totals[kChannels + 2];
        imaging::advance(device.accelerated, sums, constants_);
        device.log.push_back(device.accelerated.progress);
      }
    };
    add(d, TvQueue::border, std::move(operation));
  }

  /// Two operations of which one writes what the other reads or writes, and neither comes after the other.
  int conflicts() const {
    const std::size_t count = operations_.size();
    std::vector<std::vector<bool>> before(count, std::vector<bool>(count));
    std::map<Place, std::vector<std::pair<std::size_t, bool>>> users;
    int found = 0;
    for (std::size_t k = 0; k < count; ++k) {
      for (const std::size_t earlier : operations_[k].after) {
        before[k][earlier] = true;
        for (std::size_t i = 0; i < earlier; ++i)
          if (before[earlier][i]) before[k][i] = true;
      }
      const auto use = [&](const Place& place, bool writes) {
        for (const auto& [other, wrote] : users[place])
          if (other != k && (writes || wrote) && !before[k][other]) ++found;
        users[place].emplace_back(k, writes);
      };
      for (const Place& place : operations_[k].reads) use(place, false);
      for (const Place& place : operations_[k].writes) use(place, true);
    }
    return found;
  }

  /// Does everything, whatever has the least rank of what may be done.
  void run(const std::function<int(std::size_t)>& rank) {
    std::vector<bool> done(operations_.size());
    for (std::size_t n = 0; n < operations_.size(); ++n) {
      std::size_t next = operations_.size();
      int least = 0;
      for (std::size_t k = 0; k < operations_.size(); ++k) {
        if (done[k] || !std::ranges::all_of(operations_[k].after, [&](std::size_t i) { return done[i]; }))
          continue;
        const int r = rank(k);
        if (next == operations_.size() || r < least) next = k, least = r;
      }
      ASSERT_LT(next, operations_.size()) << "a wait that nothing ends";
      operations_[next].run();
      done[next] = true;
    }
  }
  int device_of(std::size_t operation) const { return owners_[operation]; }

  const std::vector<TvProgress>& log(std::size_t d) const { return devices_[d].log; }
  std::vector<float> result() const {
    std::vector<float> image(static_cast<std::size_t>(kChannels * nz_ * kPlane));
    for (const Device& device : devices_) {
      const float* from =
          measured_point(solver_, device.images, static_cast<std::int64_t>(device.log.size()));
      for (int c = 0; c < kChannels; ++c)
        std::copy_n(from + device.at(c, device.share.first_plane), device.share.planes * kPlane,
                    image.begin() + (c * nz_ + device.share.first_plane) * kPlane);
    }
    return image;
  }

 private:
  static constexpr int kValues = kChannels + 3;

  Device make(const TvShare& share) const {
    Device device;
    device.share = share;
    const std::int64_t count = device.stride() * kChannels;
    // What nobody has sent must not be read.
    device.memory.assign(static_cast<std::size_t>(count * image_count(solver_)), std::nanf(""));
    float* at = device.memory.data();
    const auto take = [&](std::int64_t images) { return std::exchange(at, at + images * count); };
    device.images.noisy = take(1);
    for (int k = 0; k < point_count(solver_); ++k) device.images.points[k] = take(1);
    if (solver_ == Solver::primal_dual) {
      device.images.p = take(3);
      std::fill_n(device.images.p, 3 * count, 0.0F);
    }
    for (int c = 0; c < kChannels; ++c)
      for (int z = std::max(share.first_plane - 1, 0);
           z < std::min(share.first_plane + share.planes + 1, nz_); ++z)
        for (int i = 0; i < kPlane; ++i) {
          const float value = noise(c, z * kPlane + i) + (z > nz_ / 2 ? 2.0F : 0.0F);
          for (float* image : {device.images.noisy, device.images.points[0], device.images.points[2]})
            if (image != nullptr) image[device.at(c, z) + i] = value;
        }
    for (std::vector<double>& partials : device.partials)
      partials.assign(static_cast<std::size_t>(kValues * chunks_), std::nan(""));
    return device;
  }

  void add(int d, TvQueue queue, Operation operation) {
    std::set<std::size_t>& last = last_[{d, queue}];
    operation.after.assign(last.begin(), last.end());
    last = {operations_.size()};
    owners_.push_back(d);
    operations_.push_back(std::move(operation));
  }

  /// One chunk, as tv_pass.cuh and tv_primal_dual.cuh do it, without a thought for speed.
  void compute(Device& device, const TvLaunch& launch, int chunk, double* partials) const {
    double sums[kValues] = {};
    const TvPlanes& planes = launch.planes;
    const int end = std::min(nz_, (chunk + 1) * chunk_);
    const std::int64_t component = device.stride() * kChannels;
    const bool first = launch.kernel == TvKernel::primal_begin;
    for (int c = 0; c < kChannels; ++c)
      for (int z = chunk * chunk_; z < end; ++z)
        for (int y = 0; y < kNy; ++y)
          for (int x = 0; x < kNx; ++x) {
            const auto place = [&](int i, int j, int k) {
              return device.at(c, std::min(k, nz_ - 1)) + std::min(j, kNy - 1) * kNx + std::min(i, kNx - 1);
            };
            const std::int64_t here = place(x, y, z);
            if (launch.kernel == TvKernel::accelerated) {
              const AcceleratedState& s = device.accelerated;
              const auto point = [&](int i, int j, int k) {
                const std::int64_t v = place(i, j, k);
                return planes.x[v] + static_cast<float>(s.momentum) * (planes.x[v] - planes.before[v]);
              };
              float length = 0;
              const auto flux = [&](int i, int j, int k, int axis) {
                const float value = point(i, j, k);
                const float d[3] = {point(i + 1, j, k) - value, point(i, j + 1, k) - value,
                                    point(i, j, k + 1) - value};
                length = std::sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + 1e-4F);
                return d[axis] / length;
              };
              float div = flux(x, y, z, 0) + flux(x, y, z, 1) + flux(x, y, z, 2);
              sums[c] += static_cast<double>(length);
              if (x > 0) div -= flux(x - 1, y, z, 0);
              if (y > 0) div -= flux(x, y - 1, z, 1);
              if (z > 0) div -= flux(x, y, z - 1, 2);
              const float value = point(x, y, z), d = value - planes.noisy[here];
              const float next =
                  value - static_cast<float>(s.step) * (2 * d - static_cast<float>(s.alpha[c]) * div);
              planes.next[here] = next;
              sums[kChannels] += static_cast<double>(d * d);
              sums[kChannels + 1] += static_cast<double>((value - next) * (value - next));
              sums[kChannels + 2] += static_cast<double>((value - next) * (next - planes.x[here]));
            } else if (launch.kernel == TvKernel::dual) {
              const PrimalDualState& s = device.primal_dual;
              const std::int64_t neighbours[3] = {place(x + 1, y, z), place(x, y + 1, z), place(x, y, z + 1)};
              float square = 0, length = 0, p[3];
              for (int axis = 0; axis < 3; ++axis) {
                const float of_x = planes.x[neighbours[axis]] - planes.x[here],
                            of_before = planes.before[neighbours[axis]] - planes.before[here];
                square += of_x * of_x;
                p[axis] = planes.p[axis * component + here] +
                          static_cast<float>(s.sigma) *
                              (of_x + static_cast<float>(s.momentum) * (of_x - of_before));
                length += p[axis] * p[axis];
              }
              sums[c] += static_cast<double>(std::sqrt(square));
              const float most = static_cast<float>(s.alpha[c]);
              const float scale = length > most * most ? most / std::sqrt(length) : 1;
              for (int axis = 0; axis < 3; ++axis) planes.p[axis * component + here] = scale * p[axis];
            } else {
              const PrimalDualState& s = device.primal_dual;
              const auto p = [&](int axis, int i, int j, int k) {
                return i >= 0 && j >= 0 && k >= 0 ? planes.p[axis * component + place(i, j, k)] : 0;
              };
              const float div = p(0, x, y, z) - p(0, x - 1, y, z) + p(1, x, y, z) - p(1, x, y - 1, z) +
                                p(2, x, y, z) - p(2, x, y, z - 1);
              const float noisy = planes.noisy[here], tau = static_cast<float>(s.tau);
              const float next = (planes.x[here] + tau * (div + 2 * noisy)) / (1 + tau * 2);
              planes.next[here] = next;
              const float d = next - noisy, e = div / 2;
              sums[kChannels] += static_cast<double>(d * d);
              sums[kChannels + 1] += first ? 0 : static_cast<double>(2 * e * (0.5F * e - (noisy + e)));
            }
          }
    const bool dual = launch.kernel == TvKernel::dual;
    const bool half = dual || launch.kernel != TvKernel::accelerated;
    for (int value = half && !dual ? kChannels : 0; value < (dual ? kChannels : kValues); ++value)
      partials[value * chunks_ + chunk] = sums[value];
  }

  Solver solver_;
  int nz_, chunk_, chunks_;
  std::optional<TvMark> deaf_;
  TvConstants constants_;
  std::vector<Device> devices_;
  int parity_ = 0;
  std::vector<Operation> operations_;
  std::vector<int> owners_;
  std::map<std::pair<int, TvQueue>, std::set<std::size_t>> last_;
  std::map<std::pair<int, TvMark>, std::set<std::size_t>> marks_;
};

struct Asked {
  explicit Asked(Solver solver, const Cut& cut, std::optional<TvMark> deaf = {})
      : machine(solver, cut, deaf) {
    machine.ask();
  }
  Machine machine;
};

constexpr Cut kCuts[] = {{5, 1, 1},  {5, 1, 2},  {5, 1, 3},  {5, 1, 5},  {11, 2, 2}, {11, 2, 3},
                         {11, 2, 5}, {13, 3, 5}, {17, 2, 2}, {17, 2, 3}, {2, 1, 2}};

class OnSeveralDevices : public testing::TestWithParam<Solver> {};
INSTANTIATE_TEST_SUITE_P(TvTeam, OnSeveralDevices, testing::Values(Solver::accelerated, Solver::primal_dual),
                         [](const auto& parameter) {
                           return parameter.param == Solver::accelerated ? "accelerated" : "primalDual";
                         });

TEST_P(OnSeveralDevices, GivesTheBitsOfOneInEveryOrder) {
  for (const Cut& cut : kCuts) {
    SCOPED_TRACE(testing::Message() << cut.nz << " planes in chunks of " << cut.chunk << " on "
                                    << cut.devices);
    Asked one(GetParam(), {cut.nz, cut.chunk, 1});
    one.machine.run([](std::size_t k) { return static_cast<int>(k); });
    const std::vector<float> expected = one.machine.result();
    ASSERT_EQ(one.machine.log(0).size(), 6U);
    ASSERT_TRUE(std::ranges::none_of(expected, [](float v) { return std::isnan(v); }));
    ASSERT_LT(one.machine.log(0)[5].objective, one.machine.log(0)[0].objective);
    // As asked; each device first and last; what was asked for last; and any.
    for (int order = 0; order < 2 * cut.devices + 4; ++order) {
      Asked several(GetParam(), cut);
      Machine& machine = several.machine;
      std::minstd_rand engine(static_cast<unsigned>(order + 1));
      machine.run([&](std::size_t k) {
        const int mine = machine.device_of(k) == order / 2 ? 0 : 1;
        if (order < 2 * cut.devices) return (order % 2 == 0 ? mine : 1 - mine) * 100000 + static_cast<int>(k);
        return order == 2 * cut.devices ? -static_cast<int>(k) : static_cast<int>(engine() % 1000);
      });
      const std::vector<float> result = machine.result();
      EXPECT_EQ(std::memcmp(result.data(), expected.data(), result.size() * sizeof(float)), 0) << order;
      for (std::size_t d = 0; d < static_cast<std::size_t>(cut.devices); ++d) {
        ASSERT_EQ(machine.log(d).size(), one.machine.log(0).size());
        for (std::size_t k = 0; k < machine.log(d).size(); ++k)
          EXPECT_EQ(machine.log(d)[k].objective, one.machine.log(0)[k].objective);
      }
    }
  }
}

TEST(TvTeam, LeavesNoTwoAtAPlaneWithoutAnOrder) {
  for (const Solver solver : {Solver::accelerated, Solver::descent, Solver::primal_dual})
    for (const Cut& cut : kCuts)
      EXPECT_EQ(Asked(solver, cut).machine.conflicts(), 0)
          << name(solver) << ", " << cut.nz << " planes in chunks of " << cut.chunk << " on " << cut.devices;
}

TEST(TvTeam, NeedsEachOfItsWaits) {
  for (const Solver solver : {Solver::accelerated, Solver::descent, Solver::primal_dual})
    for (const TvMark mark :
         {TvMark::borders, TvMark::inner, TvMark::planes_sent, TvMark::sums_sent, TvMark::ready})
      EXPECT_GT(Asked(solver, {17, 2, 2}, mark).machine.conflicts(), 0)
          << name(solver) << static_cast<int>(mark);
}

TEST(TvTeam, SharesAreWholeChunksOfEveryPlaneOnce) {
  for (const int nz : {1, 5, 64, 1000})
    for (const int chunk : {1, 3, 64})
      for (const int devices : {1, 2, 3, 5, 8}) {
        const int chunks = (nz + chunk - 1) / chunk;
        if (devices > chunks) {
          EXPECT_ANY_THROW(tv_shares(nz, chunk, devices));
          continue;
        }
        const std::vector<TvShare> shares = tv_shares(nz, chunk, devices);
        int planes = 0, most = 0, least = chunks;
        for (const TvShare& share : shares) {
          EXPECT_EQ(share.first_plane, planes);
          EXPECT_EQ(share.first_plane, share.first_chunk * chunk);
          planes += share.planes;
          most = std::max(most, share.chunks), least = std::min(least, share.chunks);
        }
        EXPECT_EQ(planes, nz);
        EXPECT_LE(most - least, 1);
      }
}

TEST(Denoise, TheCpuNamedSeveralTimesGivesTheSameBits) {
  TensorImage one = tensor_phantom(12);
  add_noise(one, 0.15, 7);
  TensorImage several = one;
  DenoiseOptions options;
  options.lambda = 4;
  options.max_iterations = 5;
  options.run.devices = {warploom::Device::cpu};
  denoise_tensors(one, {}, options);
  options.run.devices.assign(3, warploom::Device::cpu);
  denoise_tensors(several, {}, options);
  EXPECT_EQ(std::memcmp(one.data.data(), several.data.data(), one.data.size() * sizeof(float)), 0);
}

TEST(Denoise, GeneralisedVariationRefusesSeveralDevices) {
  TensorImage image = tensor_phantom(8);
  DenoiseOptions options;
  options.variation = Variation::generalised;
  options.solver = Solver::primal_dual;
  options.epsilon = 0;
  options.lambda = 4;
  options.run.devices.assign(2, warploom::Device::cpu);
  EXPECT_THROW(denoise_tensors(image, {}, options), BadInput);
}

}  // namespace
}  // namespace warploom::imaging::team
