#!/usr/bin/env python3
"""Prints the tables of docs/guide/imaging-synchronisation.md from the JSON of gpu_bench_imaging_sync.

  tables.py gpu_bench_imaging_sync.json
"""
import json
import sys

TABLE_10_REGISTERS = {"LLT": 9, "TVnorm": 10, "Reduction": 4, "P": 10, "Solver": 27}


def table(title, head, rows):
    print(f"\n{title}\n\n| " + " | ".join(head) + " |\n|" + " --- |" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")


def time(us):
    return f"{us:.1f} us" if us < 1000 else f"{us / 1000:.2f} ms"


def kernels(records):
    table_10 = {r["kernel"]: r["table_10_ms"] for r in records}
    for side in (8, 16):
        rows = []
        for r in [r for r in records if r["side"] == side]:
            name = r["kernel"] + ("" if r["variant"] == "original" else ", rewritten")
            paper_share = 100 * r["table_10_ms"] / sum(table_10.values())
            rows.append([name, r["calls"], time(r["median_us"]), f"{100 * r['share']:.1f} %" if "share" in r else "",
                         r["registers"], f"{r['static_bytes']:,}", f"{r['blocks_per_multiprocessor']}, "
                         f"{100 * r['occupancy']:.0f} %", f"{r['table_10_ms']:.2f} ms, {paper_share:.1f} %, {TABLE_10_REGISTERS[r['kernel']]}"])
        table(f"GlobalSync at {records[0]['size']}^3, blocks of {side}x{side}",
              ["kernel", "calls", "time", "share", "registers", "bytes", "blocks resident, occupancy",
               "Table 10: time, share, registers"], rows)


def designs(records):
    sizes = sorted({r["size"] for r in records})
    for stencil in ("printed", "centred"):
        rows, seen = [], {}
        for r in [r for r in records if r["stencil"] == stencil]:
            seen.setdefault((r["design"], r["side"], r["padding"]), {})[r["size"]] = r
        for (design, side, padding), by_size in sorted(seen.items(), key=lambda item: (*item[0][:2], item[0][2] == "halo")):
            extra = ", halo" if padding == "halo" and not design.startswith("Global") else ""
            rows.append([design + extra, f"{side}x{side}"] + [time(by_size[n]["median_us"]) for n in sizes] +
                        [f"{by_size[sizes[-1]]['speed_up']:.0f}", by_size[sizes[-1]].get("registers", "")])
        cpu = {r["size"]: r["cpu_ms"] for r in records if r["stencil"] == stencil}
        rows.append(["CPU, one thread", ""] + [time(1000 * cpu[n]) for n in sizes] + ["1", ""])
        table(f"An iteration, stencil {stencil}",
              ["design", "block"] + [f"{n}^3" for n in sizes] + [f"speed-up at {sizes[-1]}^3", "registers"], rows)


def share_of_p(records):
    table("Figure 53: P within the one kernel of the secondary designs, stencil printed",
          ["design", "block", "size", "kernel", "up to P", "share"],
          [[r["design"], f"{r['side']}x{r['side']}", f"{r['size']}^3", time(r["solver_us"]), time(r["p_us"]),
            f"{100 * r['p_us'] / r['solver_us']:.0f} %"] for r in records])


def accuracy(records):
    for stencil in ("printed", "centred"):
        chosen = [r for r in records if r["stencil"] == stencil]
        rows = []
        for r in chosen:
            name = r["design"] + (f" {r['side']}x{r['side']}" if r["design"] == "ThreadSync" else "")
            name += ", halo" if r["padding"] == "halo" and not name.startswith("Global") else ""
            rows.append([name, f"{r['first_step_from_global']:.2g}", f"{r['first_step_from_oracle']:.1g}",
                         f"{r['from_global']:.3f}", f"{r['from_oracle']:.1g}", f"{r['error_after']:.4f}"])
        r = chosen[0]
        table(f"Accuracy at {r['size']}^3, stencil {stencil}, {r['iterations']} iterations; error before "
              f"{r['error_before']:.4f}",
              ["design", "first step, from GlobalSync", "from its oracle", "at the end, from GlobalSync",
               "from its oracle", "error"], rows)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    with open(sys.argv[1], encoding="utf-8") as file:
        document = json.load(file)
    print(f"{document['device']}, {document['multiprocessors']} multiprocessors, driver {document['driver']}")
    kernels(document["kernels"])
    designs(document["designs"])
    share_of_p(document["share_of_p"])
    accuracy(document["accuracy"])


if __name__ == "__main__":
    main()
