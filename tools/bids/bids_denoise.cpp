#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include "cli/verb.hpp"
#include "cohort/run_and_tell.hpp"
#include "dataset.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/version.hpp"
#include "warploom/io/nifti.hpp"
#include "warploom/json/json.hpp"

namespace warploom::tool {
namespace fs = std::filesystem;
namespace {

struct Settings {
  std::string dataset, folder, level;
  std::vector<std::string> more_labels;
  BidsChoice choice;
  bool skip_validation = false;
  std::string work;
  CohortOptions with;
};

constexpr std::string_view kGenerator = "warploom";

void check_dataset(const Settings& s) {
  std::error_code error;
  const fs::path description = fs::path(s.dataset) / "dataset_description.json";
  if (!s.skip_validation && !fs::exists(description, error))
    throw BadInput(fmt::format(
        "{}: there is no dataset_description.json, which a BIDS data set has; give --skip-bids-validation to go on "
        "without",
        s.dataset));
}

/// So that the results are a BIDS data set, too. What others made is left alone.
void describe_results(const Settings& s) {
  const fs::path description = fs::path(s.folder) / "dataset_description.json";
  std::error_code error;
  if (fs::exists(description, error)) {
    const std::string there = read_file(description);
    if (there.find(fmt::format("\"{}\"", kGenerator)) == there.npos)
      throw BadInput(fmt::format("{} is of other results; name another folder", description.string()));
  }
  fs::create_directories(s.folder, error);
  write_file_atomically(
      description,
      Json({{"Name", "Diffusion tensors, denoised"},
            {"BIDSVersion", "1.10.0"},
            {"DatasetType", "derivative"},
            {"GeneratedBy", Json::array({Json({{"Name", kGenerator}, {"Version", version()}})})},
            {"SourceDatasets", Json::array({Json({{"URL", "file://" + fs::absolute(s.dataset).string()}})})}})
              .dump(2) +
          "\n");
  write_file_atomically(fs::path(s.folder) / ".bidsignore",
                        "cohort.tsv\ngroup.tsv\n*_dwimap.nii\n*_dwimap.nii.gz\n*_report.json\n*_qc.html\n");
}

/// "sub-01/ses-2/dwi/sub-01_ses-2_dir-AP"
std::string name_of(const fs::path& dataset, const BidsFile& series) {
  const std::string path = series.path.lexically_relative(dataset).string();
  return path.substr(0, path.size() - series.ending.size() - std::string_view("_dwi").size());
}

std::vector<CohortItem> items_of(const Settings& s) {
  std::vector<CohortItem> items;
  for (const BidsFile& series : diffusion_series(s.dataset, s.choice)) {
    CohortItem item{.name = name_of(s.dataset, series), .input = series.path};
    measure(item);
    for (const std::string kind : {"bval", "bvec"}) {
      try {
        item.values[kind] = inherited(s.dataset, series, "." + kind).string();
        if (item.values[kind].empty())
          item.error = fmt::format("{} has no .{}: none in its folder or above applies to it",
                                   series.path.string(), kind);
      } catch (const BadInput& problem) {
        item.error = problem.what();
      }
    }
    items.push_back(std::move(item));
  }
  largest_first(items);
  return items;
}

int denoise_participants(const Settings& s, const std::vector<std::string>& further) {
  std::vector<std::string> words{"denoise", "{}",           "--bval",   "{bval}",
                                 "--bvec",  "{bvec}",       "-o",       "{out}",
                                 "--names", "bids",         "--report", "{out}_report.json",
                                 "--qc",    "{out}_qc.html"};
  words.insert(words.end(), further.begin(), further.end());
  CohortPlan plan{
      .items = items_of(s), .command = CohortCommand(words, s.folder, {"bval", "bvec"}), .folder = s.folder};
  describe_results(s);
  return run_and_tell(std::move(plan), s.with);
}

struct Mean {
  double sum = 0;
  std::int64_t count = 0;
  double value() const { return count == 0 ? 0 : sum / static_cast<double>(count); }
};

/// Of a map where another is not 0.
Mean mean_where(const io::Nifti& map, const io::Nifti& inside) {
  Mean mean;
  for (std::size_t k = 0; k < map.data.size(); ++k)
    if (inside.data[k] != 0) mean.sum += map.data[k], ++mean.count;
  return mean;
}

/// A row a series that is done: means over its mask.
int tell_group(const Settings& s) {
  std::string text = "participant_id\tsession_id\tseries\tvolume_mm3\tmean_fa\tmean_md\n";
  std::size_t rows = 0;
  for (const BidsFile& series : diffusion_series(s.dataset, s.choice)) {
    const std::string name = name_of(s.dataset, series);
    const auto map = [&](std::string_view which) {
      for (const char* ending : {".nii.gz", ".nii"}) {
        const fs::path path =
            fs::path(s.folder) / fmt::format("{}_model-tensor_param-{}_dwimap{}", name, which, ending);
        std::error_code error;
        if (fs::exists(path, error)) return path;
      }
      return fs::path();
    };
    if (map("fa").empty() || map("md").empty()) continue;
    const io::Nifti fa = io::read_nifti(map("fa")), md = io::read_nifti(map("md"));
    const Mean mean_fa = mean_where(fa, md), mean_md = mean_where(md, md);
    const auto session = series.entities.find("ses");
    text += fmt::format("sub-{}\t{}\t{}\t{:.6g}\t{:.5g}\t{:.5g}\n", series.entities.at("sub"),
                        session == series.entities.end() ? "n/a" : "ses-" + session->second, name,
                        static_cast<double>(mean_fa.count) * fa.spacing[0] * fa.spacing[1] * fa.spacing[2],
                        mean_fa.value(), mean_md.value());
    ++rows;
  }
  if (rows == 0)
    throw BadInput(
        fmt::format("{}: no series of {} is done there; run 'participant' first", s.folder, s.dataset));
  const fs::path table = fs::path(s.folder) / "group.tsv";
  write_file_atomically(table, text);
  if (s.with.json)
    print_json({{"series", rows}, {"table", table.string()}});
  else
    print(fmt::format("{} series: {}\n", rows, table.string()));
  return kDone;
}

std::function<int()> add(Command& command) {
  auto s = std::make_shared<Settings>();
  command.take_command_line();
  command.add("BIDS_DIR", &s->dataset, "The data set").required();
  command.add("OUT_DIR", &s->folder, "The results, derivatives in the sense of BIDS").required();
  command.add("LEVEL", &s->level, "participant: denoise every series; group: a table over all that are done")
      .required()
      .among(std::vector<std::string>{"participant", "group"});
  command.add("LABEL", &s->more_labels, "As --participant-label's").hidden();
  command.add("--participant-label,--participant_label LABEL", &s->choice.participants,
              "These participants alone, with or without sub- [all]");
  command.add("--session-label,--session_label LABEL", &s->choice.sessions,
              "These sessions alone, with or without ses- [all]");
  command.add("--skip-bids-validation,--skip_bids_validation", &s->skip_validation,
              "The data set may lack dataset_description.json");
  command.add("-w,--work-dir DIR", &s->work, "Known for scripts that name one; nothing is written there");
  add_cohort_options(command, s->with);
  return [s, &command] {
    if (!s->more_labels.empty() && s->choice.participants.empty())
      throw BadInput(fmt::format("argument '{}' is not known here: one too many", s->more_labels.front()));
    s->choice.participants.insert(s->choice.participants.end(), s->more_labels.begin(), s->more_labels.end());
    check_dataset(*s);
    return s->level == "group" ? tell_group(*s) : denoise_participants(*s, command.rest());
  };
}

}  // namespace

Verb bids_denoise_verb() {
  return {
      "bids-denoise", "Denoise the diffusion series of a BIDS data set, and write maps as BIDS derivatives",
      "warploom bids-denoise study study/derivatives/warploom participant\n"
      "  warploom bids-denoise study out participant --participant-label 01 02 -- --regulariser tv\n"
      "  warploom bids-denoise study out group\n"
      "Behind -- stand further options of warploom denoise. b-values and directions are found by BIDS' inheritance "
      "principle. It goes on, fails and shares work as warploom cohort does.\n"
      "Outputs: OUT_DIR/sub-*/[ses-*/]dwi/*_model-tensor_param-fa_dwimap.nii.gz and others (BEP 16), a report and a page "
      "of each series, dataset_description.json, cohort.tsv; of group group.tsv: volume, mean FA and MD of each mask.\n"
      "Exit codes: 0 done; 1 some failed; 2 bad usage; 130 Ctrl-C.",
      add};
}

}  // namespace warploom::tool
