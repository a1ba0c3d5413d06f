#pragma once

#include <array>
#include <deque>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "warploom/search/find.hpp"

namespace warploom::search {

/// The channels of a query with its sensors in another orientation, as they are compared then.
/// @param turns  [sensors] row-major: the recording's axes from the query's
std::vector<std::vector<float>> turned(const Query& query, std::span<const SensorAxes> sensors,
                                       std::span<const std::array<double, 9>> turns);

/// The channels of a query in other units. @param gains  [channels]
std::vector<std::vector<float>> scaled(const Query& query, std::span<const double> gains);

/// Queries as their matches were compared with them, which is as they are unless sensors were turned or units
/// differ.
class ComparedQueries {
 public:
  /// @param queries  outlive this
  explicit ComparedQueries(std::span<const Query> queries) : queries_(queries) {}

  /// All matches of a query have its channels multiplied so. Before turn().
  void scale(std::int32_t query, std::span<const double> gains);
  /// All matches of a query have its sensors turned so.
  void turn(std::int32_t query, std::span<const SensorAxes> sensors,
            std::span<const std::array<double, 9>> turns);
  /// What a match of find() under these options was compared with: Pair::rotation may be another in each.
  const Query& of(const Match& match, const FindOptions& options);
  /// As it is, or as scale() and turn() made it.
  const Query& operator[](std::int32_t query) const;

 private:
  const Query& keep(std::int32_t query, std::int32_t rotation, std::vector<std::vector<float>> samples);

  std::span<const Query> queries_;
  std::deque<std::vector<std::vector<float>>> samples_;
  std::map<std::pair<std::int32_t, std::int32_t>, Query>
      turned_;  // by query and rotation; 0: of scale(), turn()
};

}  // namespace warploom::search
