#!/usr/bin/env bash
# What BIDS' own validator (PyPI: bids-validator-deno) says of a made-up data set and of what `warploom bids-denoise` makes of it:
#   bench/cohort/bids_validator.sh build/default/bin/warploom
# Prints a line of JSON each, with the errors; exit code 1 if there is one.
set -euo pipefail
tool=$(readlink -f "$1") scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
mkdir -p study/sub-01/dwi study/sub-02/ses-a/dwi made
"$tool" example series -o made >/dev/null
cp made/dwi.nii.gz study/sub-01/dwi/sub-01_dwi.nii.gz
cp made/dwi.nii.gz study/sub-02/ses-a/dwi/sub-02_ses-a_dir-AP_dwi.nii.gz
cp made/dwi.bval made/dwi.bvec study
echo "Made up." >study/README
echo '{"Name": "Made up", "BIDSVersion": "1.10.0", "License": "CC0", "Authors": ["Nobody"]}' >study/dataset_description.json
for series in study/sub-01/dwi/sub-01_dwi study/sub-02/ses-a/dwi/sub-02_ses-a_dir-AP_dwi; do
  echo '{"RepetitionTime": 3.0}' >"$series.json"
done
"$tool" bids-denoise study derivatives participant --device cpu -q >/dev/null
"$tool" bids-denoise study derivatives group >/dev/null
failed=0
for folder in study derivatives; do
  bids-validator-deno --json "$folder" >found.json || true
  python3 - "$folder" <<'X' || failed=1
import json, sys
found = json.load(open("found.json"))["issues"]["issues"]
errors = [issue for issue in found if issue["severity"] == "error"]
print(json.dumps({"folder": sys.argv[1], "errors": errors, "warnings": sorted({issue["code"] for issue in found if issue["severity"] == "warning"})}))
sys.exit(1 if errors else 0)
X
done
exit $failed
