#pragma once

#include <string>
#include <vector>

#include "warploom/io/gzip.hpp"

namespace warploom::table {

/// Sequences as one meets them, and what of them is letters; every way of counting reads them alike.
struct OddFile {
  std::string name, content;
  std::vector<std::string> letters;
};
/// What no way of counting may take, and what each says.
struct BrokenFile {
  std::string content, says;
};

inline const std::string kGoodFile = "@g\nGATTACA\n+\nIIIIIII\n", kLastFile = ">l\nCCCGGG\n";

inline std::vector<OddFile> odd_files() {
  const std::string plain = "@a\nACGTAC\n+\nIIIIII\n";
  return {{"crlf.fq", "@a\r\nACGTAC\r\n+\r\nIIIIII\r\n", {"ACGTAC"}},
          {"crlf.fa", ">a\r\nACGT\r\nAC\r\n", {"ACGTAC"}},
          {"lines.fq", "@a\nACG\nTAC\n+\nIII\nIII\n", {"ACGTAC"}},
          {"at_quality.fq", "@a\nACG\nTAC\n+a\n@II\n+II\n", {"ACGTAC"}},
          {"no_end.fq", "@a\nACGTAC\n+\nIIIIII", {"ACGTAC"}},
          {"no_end.fa", ">a\nACGTAC", {"ACGTAC"}},
          {"small.fq", "@a\nacgtac\n+\nIIIIII\n", {"ACGTAC"}},
          {"empty_read.fq", "@e\n\n+\n\n" + plain + "@e\n\n+\n\n", {"ACGTAC"}},
          {"short.fq", "@s\nAC\n+\nII\n" + plain, {"ACGTAC"}},
          {"blank_lines.fq", "\n\n" + plain + "\n\n", {"ACGTAC"}},
          {"blank_lines.fa", "\n>a\n\nACG\n\nTAC\n\n", {"ACGTAC"}},
          {"mark.fa", "\xEF\xBB\xBF>a\nACGTAC\n", {"ACGTAC"}},
          {"remarks.fa", ";old\n>a\nACG\n;more\nTAC\n", {"ACGTAC"}},
          {"rna.fa", ">a\nACGUAC\n", {"ACGTAC"}},
          {"n.fq", "@a\nACGNTAC\n+\nIII!III\n", {"ACG", "TAC"}},
          {"gaps.fa", ">a\nACG-TAC*\n", {"ACG", "TAC"}},
          {"blanks.fa", ">a\nACG TAC\t\n", {"ACGTAC"}},
          {"header.fa", ">\nACGTAC\n", {"ACGTAC"}},
          {"fasta.fq", ">a\nACGTAC\n", {"ACGTAC"}},
          {"fastq.fa", plain, {"ACGTAC"}},
          {"packed.fq", io::gzip(plain, 6), {"ACGTAC"}},
          {"two.fq.gz", io::gzip("@a\nACG", 6) + io::gzip("TAC\n+\nIIIIII\n", 6), {"ACGTAC"}},
          {"zeros.fq.gz", io::gzip(plain, 6) + std::string(512, '\0'), {"ACGTAC"}}};
}

/// They are called "odd".
inline std::vector<BrokenFile> broken_files() {
  const std::string packed = io::gzip("@a\nACGTAC\n+\nIIIIII\n", 6);
  return {{"@a\nACG\n+\nII\n@b\nACG\n+\nIII\n", "odd:4:1: 2 qualities of 3 letters"},
          {"@a\nACG\n+\nIIII\n", "odd:4:1: 4 qualities of 3 letters"},
          {"@a\nACG\n", "odd:3:1: the file ends before the '+'"},
          {"@a\nACG\n+\n", "ends within its last record"},
          {"@a\nACG\n@b\nACG\n+\nIII\n", "odd:3:1: a header before the '+'"},
          {"ACGT\n", "odd:1:1: neither FASTA nor FASTQ"},
          {">a\n>b\nACG\n", "odd:1:1: a record without a sequence"},
          {">a\nAC1\n", "odd:2:3: the character '1'"},
          {">a\nACG\rT\r", "odd:2:4: a CR that no LF follows"},
          {"", "odd: it has no sequence"},
          {packed.substr(0, packed.size() - 9), "odd: the gzip stream is cut off"},
          {packed + "x", "odd: the gzip stream is followed by bytes"}};
}

}  // namespace warploom::table
