#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>

#include "cli/output_files.hpp"
#include "cli/verb.hpp"
#include "made_up.hpp"
#include "tool_verbs/embedded.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"

namespace warploom::tool {
namespace {
namespace fs = std::filesystem;

struct Example {
  std::string_view name, what, next;  ///< next: the command to type
};

constexpr Example kExamples[] = {
    {"kernel", "PTX of a kernel that sorts, scans and reduces with CUB, and how it is launched",
     "warploom reuse kernel.ptx -o shared.ptx --html kernel.html"},
    {"nest", "a loop nest in C: a matrix product", "warploom tile nest.c --html nest.html"},
    {"series", "a diffusion series of a made-up head: NIfTI with b-values and directions",
     "warploom denoise dwi.nii.gz --bval dwi.bval --bvec dwi.bvec -o denoised --qc denoised.html"},
    {"heads", "two images of a made-up head, in two poses, and labels of its tissues: NIfTI",
     "warploom register head1.nii.gz head2.nii.gz -o warped.nii.gz --field warp.nii.gz --qc register.html"},
    {"image", "a made-up microscope image of cells: PNG",
     "warploom segment cells.png -o mask.png --overlay outlines.png"},
    {"recording", "four force sensors under a foot, made up: CSV with a header and a column of labels",
     "warploom search walk.csv walk.csv --from 7.2 --to 8.3 -o found --html"},
    {"gait", "sixteen force sensors under two feet, made up, as PhysioNet's gaitpdb has them: no header",
     "warploom search gait.txt gait.txt --from 5.4 --to 6.5 -o found --html"},
    {"activity", "three accelerometers, made up, as in UCI's Daphnet: no header, milliseconds, labels",
     "warploom search activity.txt activity.txt --from 23 --to 25 -o found --html"},
    {"reads", "400 made-up reads of a genome: FASTA",
     "warploom table count reads.fa --kmer 21 --canonical --top 5"},
    {"rna", "a transfer RNA of yeast: FASTA", "warploom fold rna.fa --svg rna.svg"},
    {"polygon", "56 corners of a polygon: CSV", "warploom dp polygon polygon.csv --svg polygon.svg"},
};

/// Names of the files, written or, without `files`, only told.
std::vector<std::string> write(const Example& example, const fs::path& folder, bool force) {
  OutputFiles files;
  std::vector<std::string> names;
  std::vector<std::function<void()>> writes;
  const auto add = [&](const std::string& name, auto writer) {
    const fs::path path = folder / name;
    files.add(path, force);
    names.push_back(folder == "." ? name : path.string());
    writes.emplace_back([&files, path, writer] { files.write(path, writer); });
  };
  const auto text = [&](const std::string& name, std::string content) {
    add(name, [content = std::move(content)](const fs::path& path) { write_file_atomically(path, content); });
  };
  const auto embedded = [&](const std::string& name, std::string_view content) {
    text(name, std::string(content));
  };
  const auto nifti = [&](const std::string& name, io::Nifti& image) {
    add(name, [image = std::make_shared<io::Nifti>(std::move(image))](const fs::path& path) {
      io::write_nifti(path, *image);
    });
  };
  using namespace tool_verbs::embedded;
  if (example.name == "kernel") {
    embedded("kernel.ptx", cub_tempstorage_sm_90_ptx);
    embedded("kernel.sim", cub_tempstorage_sim);
    embedded("kernel.cu", cub_tempstorage_cu);
  } else if (example.name == "nest") {
    embedded("nest.c", gemm_c);
  } else if (example.name == "series") {
    DiffusionSeries series = made_up_series();
    nifti("dwi.nii.gz", series.image);
    text("dwi.bval", series.bval);
    text("dwi.bvec", series.bvec);
  } else if (example.name == "heads") {
    TwoHeads heads = made_up_heads();
    nifti("head1.nii.gz", heads.first);
    nifti("head1_labels.nii.gz", heads.first_labels);
    nifti("head2.nii.gz", heads.second);
    nifti("head2_labels.nii.gz", heads.second_labels);
  } else if (example.name == "image") {
    text("cells.png", io::format_png(made_up_cells()));
  } else if (example.name == "recording") {
    embedded("walk.csv", walk_csv);
  } else if (example.name == "gait") {
    text("gait.txt", made_up_gait());
  } else if (example.name == "activity") {
    text("activity.txt", made_up_activity());
  } else if (example.name == "reads") {
    text("reads.fa", made_up_reads());
  } else if (example.name == "rna") {
    embedded("rna.fa", trna_phe_fa);
  } else {
    embedded("polygon.csv", polygon_csv);
  }
  for (const auto& one : writes) one();
  files.commit();
  return names;
}

std::string list() {
  std::string text;
  for (const Example& example : kExamples) text += fmt::format("{:<10} {}\n", example.name, example.what);
  return text;
}

struct Settings {
  std::string name, folder = ".";
  bool force = false;
};

int run(const Settings& s) {
  if (s.name.empty()) {
    print(list());
    return kDone;
  }
  const auto* const found = std::ranges::find(kExamples, s.name, &Example::name);
  if (found == std::end(kExamples)) {
    std::vector<std::string> names;
    for (const Example& example : kExamples) names.emplace_back(example.name);
    const std::string guess = nearest(s.name, names);
    throw BadInput(fmt::format("there is no example '{}'{}; there are {}", s.name,
                               guess.empty() ? "" : fmt::format(", did you mean {}?", guess),
                               fmt::join(names, ", ")));
  }
  const std::vector<std::string> names = write(*found, s.folder, s.force);
  print(fmt::format("{}: {}\n", fmt::join(names, ", "), found->what));
  print(fmt::format("Next: {}{}\n", s.folder == "." ? "" : fmt::format("cd {} && ", s.folder), found->next));
  return kDone;
}

std::function<int()> add(Command& command) {
  auto s = std::make_shared<Settings>();
  std::vector<std::string> names;
  for (const Example& example : kExamples) names.emplace_back(example.name);
  command.add("NAME", &s->name, "Which example; without a name all are listed").suggest(std::move(names));
  command.add("-o,--output DIR", &s->folder, "Folder for its files [the current one]");
  command.add_force(s->force);
  return [s] { return run(*s); };
}

}  // namespace

Verb example_verb() {
  return {"example", "Write a small input to try a verb on, and say the command to type next",
          "warploom example series", add};
}

}  // namespace warploom::tool
