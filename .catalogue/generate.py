#!/usr/bin/env python3
"""Writes the catalogue headers from the JSON tables beside this file.

    generate.py           rewrites include/berth/topology/catalogue/*.hpp
    generate.py --check   exits 1 and names each committed header that differs from what the tables give

Standard library only. Deterministic: the same tables give the same bytes.
"""

import json
import pathlib
import re
import sys
from decimal import Decimal

from cpp_text import header, name, packed, real, text, whole
from generate_mig import mig_products

HERE = pathlib.Path(__file__).resolve().parent
OUT = HERE.parent / "include" / "berth" / "topology" / "catalogue"
RACK = "gb200-nvl72-rack"  # one NVLink domain of 18 machines, not a machine

KINDS = {"gpu": "gpu", "nic": "nic", "nvswitch": "nvswitch", "pcisw": "pcie_switch", "numa": "numa"}
SOCKET_LINKS = {"QPI": "qpi", "UPI": "upi", "xGMI": "xgmi", "xGMI or on-package": "cpu_link",
                "Grace-Grace link, rate not found": "cpu_link"}


# ---------------------------------------------------------------------------------------------- GPU models

def gpu_models(table):
    body = ["// clang-format off", "namespace berth::catalogue {", "", "namespace detail::gpus {",
            "inline constexpr std::nullopt_t none = std::nullopt;", "",
            "// id, name, architecture, chip, compute capability; memory GB, MiB as the driver reports it, memory GB/s; SMs; dense",
            "// TFLOPS fp16, bf16, fp8, fp4; watts; NVLink generation, links, GB/s per link; PCIe generation, lanes, GB/s; MIG",
            "// product; confidence in rates, in shape.",
            "inline constexpr gpu_model rows[] = {"]
    for g in table["gpus"]:
        flops = g["dense_tflops"]
        nv = g["nvlink"]
        if nv:
            assert nv["links"] * nv["gbps_per_link_uni"] == nv["gbps_total_uni"], g["id"]
        port = "none" if not nv else f'nvlink_ports{{{nv["gen"]}, {nv["links"]}, {real(nv["gbps_per_link_uni"])}}}'
        body += [
            f'    {{{text(g["id"])}, {text(g["name"])}, {text(g["architecture"])}, {text(g["chip"])}, '
            f'{text(g["compute_capability"])},',
            f'     {whole(g["memory_gb"])}, {whole(g["smi_memory_mib"])}, {real(g["memory_gbps"])}, '
            f'{whole(g["sm_count"])}, {{{", ".join(real(flops[k]) for k in ("fp16", "bf16", "fp8", "fp4"))}}}, '
            f'{whole(g["tdp_w"])},',
            f'     {port}, {g["pcie"]["gen"]}, {g["pcie"]["lanes"]}, {real(g["pcie"]["gbps_uni"])}, '
            f'{text(g["mig_product"])}, confidence::{g["confidence"]}, confidence::{g["confidence_shape"]}}},']
    body += ["};", "}  // namespace detail::gpus", "",
             "/// Every GPU model.", "inline constexpr std::span<const gpu_model> gpu_models = detail::gpus::rows;", "",
             "/// The model of that id, or nullptr. O(models).",
             "[[nodiscard]] constexpr const gpu_model* find_gpu_model(std::string_view id) noexcept {",
             "  for (const auto& m : gpu_models)", "    if (m.id == id) return &m;", "  return nullptr;", "}", "",
             "}  // namespace berth::catalogue", "// clang-format on"]
    return header(["GPU models: memory, dense rates, power, NVLink, PCIe. Most rate columns are recalled data-sheet values."],
                  ["<optional>", "<span>", "<string_view>", "berth/topology/catalogue/rows.hpp"], body, "gpus.json")


# ---------------------------------------------------------------------------------------------- node graphs

def part(vertex_id):
    """("gpu", 3) of "gpu3"; the external NVLink switches of a tray, seen as one, are NVLink domain 0."""
    if vertex_id == "nvfabric":
        return ("nvlink_domain", 0)
    kind, index = re.fullmatch(r"([a-z]+)(\d+)", vertex_id).groups()
    return (KINDS[kind], int(index))


def link_of(edge):
    """(kind, generation, count, GB/s) of an edge; all but the kind may be None."""
    kind = {"socket": lambda: SOCKET_LINKS[edge["kind"]], "numa": lambda: "on_die"}.get(edge["type"], lambda: edge["type"])()
    return (kind, edge.get("gen"), edge.get("lanes", edge.get("links")), edge["gbps_uni"])


ORDER = ["gpu", "nic", "nvswitch", "nvlink_domain", "pcie_switch", "numa"]  # the first of an edge's kinds is written first


def oriented(edge):
    a, b = part(edge["a"]), part(edge["b"])
    if (ORDER.index(a[0]), a[1]) > (ORDER.index(b[0]), b[1]):
        a, b = b, a
    return a, b


def unpack(row):
    (a_kind, a0, a1), how, (b_kind, b0, b1), _ = row
    n, m = a1 - a0 + 1, b1 - b0 + 1
    if how == "all":
        return {((a_kind, i), (b_kind, j)) for i in range(a0, a1 + 1) for j in range(b0, b1 + 1)}
    assert n % m == 0
    return {((a_kind, a0 + i), (b_kind, b0 + i // (n // m))) for i in range(n)}


def wires(edges):
    """Packs edges into rows: `all` blocks and evenly shared `each` runs, the largest first from the lowest pair."""
    groups = {}
    for e in edges:
        a, b = oriented(e)
        pairs = groups.setdefault((ORDER.index(a[0]), ORDER.index(b[0]), link_of(e)), [])
        assert (a, b) not in pairs, "parallel edges would need a count"
        pairs.append((a, b))
    rows = []
    for (ka, kb, link) in sorted(groups, key=lambda k: (k[0], k[1], tuple(-1 if x is None else x for x in k[2][1:]), k[2][0])):
        left = {(a[1], b[1]) for a, b in groups[(ka, kb, link)]}
        total = set(groups[(ka, kb, link)])
        mine = []
        while left:
            a0, b0 = min(left)
            best = (1, "each", a0, b0)
            b1 = b0
            while (a0, b1) in left:  # a block a0..a1 x b0..b1
                a1 = a0
                while all((a1 + 1, b) in left for b in range(b0, b1 + 1)):
                    a1 += 1
                size = (a1 - a0 + 1) * (b1 - b0 + 1)
                if size > best[0] and (ka != kb or a1 < b0):
                    best = (size, "all", a1, b1)
                b1 += 1
            share = 1
            while (a0 + share - 1, b0) in left:  # a's in order, `share` of them per b
                m = 0
                while all((a0 + m * share + s, b0 + m) in left for s in range(share)):
                    m += 1
                size = m * share
                if size > best[0] and ka != kb:
                    best = (size, "each", a0 + size - 1, b0 + m - 1)
                share += 1
            _, how, a1, b1 = best
            row = ((ORDER[ka], a0, a1), how, (ORDER[kb], b0, b1), link)
            left -= {(a[1], b[1]) for a, b in unpack(row)}
            mine.append(row)
        got = set()
        for row in mine:
            assert not got & unpack(row)
            got |= unpack(row)
        assert got == total
        rows += mine
    return rows


def cpu_count(cpu_list):
    """Number of CPUs in "0-23,48-71", None for None."""
    if cpu_list is None:
        return None
    total = 0
    for piece in cpu_list.split(","):
        low, _, high = piece.partition("-")
        total += int(high or low) - int(low) + 1
    return total


def runs(items, key):
    """Splits (index, item) pairs into runs of consecutive indices with equal key."""
    out = []
    for index, item in items:
        if out and out[-1][1] == index - 1 and key(out[-1][2]) == key(item):
            out[-1][1] = index
        else:
            out.append([index, index, item])
    return out


def vertices(node, kind):
    found = sorted((part(v["id"])[1], v) for v in node["vertices"] if part(v["id"])[0] == kind)
    assert [i for i, _ in found] == list(range(len(found))), (node["id"], kind)
    return [v for _, v in found]


def nic_runs(node):
    """[first, last, vertex of the first, NICs per rail]"""
    nics = list(enumerate(vertices(node, "nic")))
    out = []
    for first, last, v in runs(nics, lambda v: (v["role"], v["gbit"], v["rail"] is None)):
        rails = [nics[i][1]["rail"] for i in range(first, last + 1)]
        per = 1 if v["rail"] is None else rails.count(rails[0])
        assert v["rail"] is None or rails == [rails[0] + i // per for i in range(len(rails))], node["id"]
        out.append((first, last, v, per))
    return out


def node_graphs(table):
    body = ["// clang-format off", "namespace berth::catalogue {", "", "namespace detail::wiring {",
            "using enum vertex_kind;", "using enum link_kind;", "using enum pattern;", "using enum nic_role;",
            "inline constexpr std::nullopt_t none = std::nullopt;", ""]
    rows = []
    for n in table["nodes"]:
        word = name(n["id"])
        numa, nics = vertices(n, "numa"), nic_runs(n)
        body.append(f'// {n["title"]}')
        if numa:
            body.append(f"inline constexpr numa_row {word}_numa[] = {{")
            for first, last, v in runs(enumerate(numa), lambda v: (v["cores"], cpu_count(v.get("cpus")), v.get("socket"))):
                body.append(f'    {{{first}, {last}, {v["cores"]}, {whole(cpu_count(v.get("cpus")))}, {whole(v.get("socket"))}}},')
            body.append("};")
        if nics:
            body.append(f"inline constexpr nic_row {word}_nics[] = {{")
            for first, last, v, per in nics:
                body.append(f'    {{{first}, {last}, {v["role"]}, {v["gbit"]}, {whole(v["rail"])}, {per}}},')
                assert v["gbps_uni"] * 8 == v["gbit"]
            body.append("};")
        body.append(f"inline constexpr wire_row {word}_wires[] = {{")
        for (a, a0, a1), how, (b, b0, b1), (kind, gen, count, rate) in wires(n["edges"]):
            body.append(f"    {{{a}, {a0}, {a1}, {how}, {b}, {b0}, {b1}, {kind}, {whole(gen)}, {whole(count)}, {real(rate)}}},")
        body += ["};", ""]
        span = lambda present, suffix: f"detail::wiring::{word}_{suffix}" if present else "{}"
        rows += [f'    {{{text(n["id"])}, {text(n["title"])}, {text(n["gpu"])},',
                 f'     {text(n.get("cpu"))}, confidence::{n["confidence"]}, '
                 f'{", ".join(str(len(vertices(n, k))) for k in ("gpu", "nvswitch", "nvlink_domain", "pcie_switch"))}, '
                 f'{n.get("sockets", 0)},',
                 f'     {span(numa, "numa")}, {span(nics, "nics")}, {span(True, "wires")}}},']
    body += ["}  // namespace detail::wiring", "",
             "/// Every wired machine. Columns: id, title, GPU model; CPU, confidence, GPUs, NVSwitches, NVLink domains, PCIe switches,",
             "/// sockets; NUMA nodes, NICs, links.",
             "inline constexpr node_graph_row node_graphs[] = {", *rows, "};", "",
             "/// The one row of `node_graphs` that is not a machine: the NVLink domain of a rack of 18 `gb200-tray`.",
             f'inline constexpr std::string_view nvl72_rack_id = "{RACK}";', "",
             "/// The wiring of that id, or nullptr. O(rows).",
             "[[nodiscard]] constexpr const node_graph_row* find_node_graph(std::string_view id) noexcept {",
             "  for (const auto& n : node_graphs)", "    if (n.id == id) return &n;", "  return nullptr;", "}", "",
             "}  // namespace berth::catalogue", "// clang-format on"]
    return header(["How machines are wired: GPUs, NVSwitches, PCIe switches, NUMA nodes, NICs, and every link between them.",
                   "A row joins ranges of parts (`pattern`), so one line says what eight would; `make_node_graph` unpacks them.",
                   "NUMA: first, last, cores, CPUs, socket. NICs: first, last, role, Gb/s, rail of the first, NICs per rail.",
                   "Links: from kind, first, last; pattern; to kind, first, last; link kind, generation, links or lanes, GB/s.",
                   "In a single tray of a rack, `nvlink_domain 0` stands for all NVSwitches of the rack, which are outside the tray."],
                  ["<optional>", "<string_view>", "berth/topology/catalogue/rows.hpp"], body, "nodes.json")


# ---------------------------------------------------------------------------------------------- node shapes

def widest(count, edges, through):
    """All-pairs widest paths over vertices 0..count-1 where only `through` may be passed. edges: {(i, j): rate}."""
    best = [[0] * count for _ in range(count)]
    for (i, j), rate in edges.items():
        best[i][j] += rate
        best[j][i] += rate
    for k in through:
        for i in range(count):
            reach = best[i][k]
            if reach == 0:
                continue
            for j in range(count):
                if i != j:
                    best[i][j] = max(best[i][j], min(reach, best[k][j]))
    return best


def pair_bandwidth(node):
    """GB/s between every two GPUs, None where only links of unknown rate join them.

    NVSwitch planes (switches linked with each other) are used at once, so the widest paths through each plane add up;
    a direct link adds to them. A path over PCIe and sockets is one path. The larger of the two counts.
    """
    ids = [v["id"] for v in node["vertices"]]
    at = {v: i for i, v in enumerate(ids)}
    kind = [part(v)[0] for v in ids]
    ends = {"gpu", "nic"}
    known, joined = {}, {}
    for e in node["edges"]:
        key = tuple(sorted((at[e["a"]], at[e["b"]])))
        joined[key] = 1
        if e["gbps_uni"] is not None:  # exact in thousandths of a GB/s
            units = Decimal(str(e["gbps_uni"])) * 1000
            assert units == int(units)
            known[key] = known.get(key, 0) + int(units)
    switches = [i for i in range(len(ids)) if kind[i] in ("nvswitch", "nvlink_domain")]
    plane = {s: s for s in switches}
    for _ in switches:
        for (i, j) in known:
            if i in plane and j in plane:
                plane[i] = plane[j] = min(plane[i], plane[j])
    gpus = [at[f"gpu{i}"] for i in range(len(vertices(node, "gpu")))]
    total = [[known.get(tuple(sorted((a, b))), 0) for b in gpus] for a in gpus]
    for p in sorted(set(plane.values())):
        members = {s for s in switches if plane[s] == p}
        part_edges = {k: r for k, r in known.items()
                      if any(v in members for v in k) and all(v in members or kind[v] == "gpu" for v in k)}
        through = widest(len(ids), part_edges, sorted(members))
        for x, a in enumerate(gpus):
            for y, b in enumerate(gpus):
                if x != y:
                    total[x][y] += through[a][b]
    middle = [i for i in range(len(ids)) if kind[i] not in ends]
    single = widest(len(ids), known, middle)
    linked = widest(len(ids), joined, middle)
    out = []
    for x, a in enumerate(gpus):
        row = []
        for y, b in enumerate(gpus):
            rate = max(total[x][y], single[a][b])
            assert x == y or linked[a][b] > 0, "every two GPUs of a machine are joined"
            row.append(None if rate == 0 and x != y else rate / 1000)
        out.append(row)
    return out


def neighbours(node, vertex, kind):
    return sorted(part(o)[1] for e in node["edges"] for s, o in ((e["a"], e["b"]), (e["b"], e["a"]))
                  if s == vertex and part(o)[0] == kind)


def numa_of(node, vertex):
    """NUMA node that a GPU or NIC hangs on, directly or through its PCIe switch."""
    found = set(neighbours(node, vertex, "numa"))
    for s in neighbours(node, vertex, "pcie_switch"):
        found |= set(neighbours(node, f"pcisw{s}", "numa"))
    assert len(found) <= 1, (node["id"], vertex)
    return found.pop() if found else None


def host_links(node):
    """Links on the way from the GPUs to their NUMA nodes: ({GPUs behind it}, GB/s or None), links behind which lie the
    same GPUs taken together (the slowest counts), few GPUs first; and GB/s between every two NUMA nodes."""
    rates = {}
    for e in node["edges"]:
        key = frozenset((e["a"], e["b"]))
        rates[key] = None if e["gbps_uni"] is None or rates.get(key, 0) is None else rates.get(key, 0) + e["gbps_uni"]
    behind = {}
    for g in range(len(vertices(node, "gpu"))):
        if numa_of(node, f"gpu{g}") is None:
            continue
        steps = [f"gpu{g}", f"numa{numa_of(node, f'gpu{g}')}"]
        if frozenset(steps) not in rates:
            steps.insert(1, f'pcisw{neighbours(node, f"gpu{g}", "pcie_switch")[0]}')
        for pair in zip(steps, steps[1:]):
            behind.setdefault(frozenset(pair), set()).add(g)
    merged = {}
    for pair, gpus in behind.items():
        key, rate = frozenset(gpus), rates[pair]
        merged[key] = rate if key not in merged else None if rate is None or merged[key] is None else min(rate, merged[key])
    links = sorted(merged.items(), key=lambda item: (len(item[0]), sum(1 << i for i in item[0])))
    ids = [v["id"] for v in node["vertices"]]
    at = {v: i for i, v in enumerate(ids)}
    known = {tuple(sorted(at[v] for v in pair)): round(rate * 1000) for pair, rate in rates.items() if rate is not None}
    single = widest(len(ids), known, [i for i, v in enumerate(ids) if part(v)[0] not in ("gpu", "nic")])
    numas = range(len(vertices(node, "numa")))
    return links, [[(single[at[f"numa{i}"]][at[f"numa{k}"]] or -1000) / 1000 if i != k else 0.0 for k in numas] for i in numas]


def mask(indices):
    return hex(sum(1 << i for i in indices))


def node_shapes(table):
    body = ["// clang-format off", "namespace berth {", "", "namespace catalogue::detail::shapes {", "",
            "/// A NUMA node: devices on it, CPUs.", "struct numa { device_mask devices; std::uint16_t cpus; };",
            "/// A NIC: devices nearest to it, GB/s, rail (-1: none).",
            "struct nic { device_mask devices; float gbps; std::int8_t rail; };",
            "/// A link on the way from devices to their NUMA node: devices behind it, GB/s (-1: unknown).",
            "struct host { device_mask devices; float gbps; };",
            "/// One machine. `between` is numa x numa, as `rates`.",
            "/// `rates` is row-major, devices x devices; a single entry means every pair alike; -1 is unknown.",
            "struct row {", "  std::string_view id, model;", "  std::uint8_t devices;", "  std::span<const float> rates;",
            "  std::span<const numa> numas;", "  std::span<const device_mask> switches;", "  std::span<const nic> nics;",
            "  std::span<const host> hosts;", "  std::span<const float> between;", "};", ""]
    rows = []
    for n in table["nodes"]:
        if n["id"] == RACK:
            continue
        word = name(n["id"])
        gpus = range(len(vertices(n, "gpu")))
        home = {g: numa_of(n, f"gpu{g}") for g in gpus}
        for g, v in enumerate(vertices(n, "gpu")):
            assert v["numa"] == home[g], (n["id"], g)  # the table's attribute and its links agree
        pairs = pair_bandwidth(n)
        distinct = {pairs[a][b] for a in gpus for b in gpus if a != b}
        number = lambda r: "-1" if r is None else f"{r:g}"
        body.append(f'// {n["title"]}')
        body.append(f"inline constexpr float {word}_rates[] = {{" + ("" if len(distinct) > 1 else number(distinct.pop() if distinct else 0.0) + "};"))
        if not body[-1].endswith("};"):
            width = max(len(number(r)) for row in pairs for r in row)
            body += ["    " + ", ".join(number(r).rjust(width) for r in row) + "," for row in pairs]
            body.append("};")
        numa = vertices(n, "numa")
        cpus = [cpu_count(v.get("cpus")) or v["cores"] for v in numa]
        body += [f"inline constexpr numa {word}_numas[] = {{", *packed(
            [f"{{{mask(g for g in gpus if home[g] == i)}, {cpus[i]}}}" for i in range(len(numa))], "    "), "};"]
        under = [neighbours(n, f"pcisw{i}", "gpu") for i in range(len(vertices(n, "pcie_switch")))]
        under = [u for u in under if u]
        if under:
            body.append(f"inline constexpr device_mask {word}_switches[] = {{" + ", ".join(mask(u) for u in under) + "};")
        nics = vertices(n, "nic")
        entries = []
        for i, v in enumerate(nics):
            near = [g for s in neighbours(n, f"nic{i}", "pcie_switch") for g in neighbours(n, f"pcisw{s}", "gpu")]
            if not near:
                near = [g for g in gpus if home[g] is not None and home[g] == numa_of(n, f"nic{i}")]
            entries.append(f'{{{mask(near)}, {v["gbps_uni"]:g}, {-1 if v["rail"] is None else v["rail"]}}}')
        if entries:
            body += [f"inline constexpr nic {word}_nics[] = {{", *packed(entries, "    "), "};"]
        links, between = host_links(n)
        if links:
            body += [f"inline constexpr host {word}_hosts[] = {{", *packed(
                [f"{{{mask(sorted(gpus_behind))}, {number(rate)}}}" for gpus_behind, rate in links], "    "), "};"]
        apart = {between[i][k] for i in range(len(numa)) for k in range(len(numa)) if i != k}
        body.append(f"inline constexpr float {word}_between[] = {{" + (
            number(apart.pop() if apart else 0.0) + "};" if len(apart) < 2 else ""))
        if not body[-1].endswith("};"):
            body += ["    " + ", ".join(number(r).rjust(2) for r in row) + "," for row in between]
            body.append("};")
        body.append("")
        rows += [f'    {{{text(n["id"])}, {text(n["gpu"])}, {len(gpus)},',
                 f'     {word}_rates, {word}_numas, {word + "_switches" if under else "{}"}, {word + "_nics" if entries else "{}"},',
                 f'     {word + "_hosts" if links else "{}"}, {word}_between}},']
    body += ["inline constexpr row rows[] = {", *rows, "};", "", "}  // namespace catalogue::detail::shapes",
             "// clang-format on", "", *SHAPE_FUNCTIONS.strip("\n").split("\n"), "", "}  // namespace berth"]
    return header(["Flat shapes of the catalogue's machines, ready for a cluster: pairwise bandwidth, NUMA nodes, PCIe switches, NICs.",
                   "",
                   "Bandwidth of two devices: NVSwitch planes are used at once, so what the planes carry adds up (H100: 18 links of",
                   "25 GB/s over four switches are 450); a path over PCIe and sockets is one path; the larger of the two counts.",
                   "CPUs: hardware threads where the source lists them, else physical cores (then the operating system may show twice",
                   "as many). Memory of a machine is not in the tables: `memory` is 0 and the caller must set it.",
                   "A rack such as `gb200-nvl72-rack` is not a machine and has no shape here; its machine is `gb200-tray`."],
                  ["<cstddef>", "<cstdint>", "<optional>", "<span>", "<string>", "<string_view>", "<vector>",
                   "berth/core/bits.hpp", "berth/core/units.hpp", "berth/topology/node_shape.hpp"], body, "nodes.json")


SHAPE_FUNCTIONS = """
/// Ids of all machines of the catalogue, in its order.
[[nodiscard]] inline std::vector<std::string_view> catalogue_shape_names() {
  std::vector<std::string_view> out;
  for (const auto& r : catalogue::detail::shapes::rows) out.push_back(r.id);
  return out;
}

/// The shape of a machine of the catalogue, or nothing when there is none of that id. `memory` (of the machine and of
/// its NUMA nodes) is 0: the tables do not state it, the caller must. O(devices^2).
[[nodiscard]] inline std::optional<node_shape> catalogue_shape(std::string_view id) {
  for (const auto& r : catalogue::detail::shapes::rows) {
    if (r.id != id) continue;
    node_shape s;
    s.name = std::string{r.id};
    s.devices = r.devices;
    s.models.assign(r.devices, std::string{r.model});
    s.bandwidth = bandwidth_table{r.devices};
    for (unsigned a = 0; a < s.devices; ++a)
      for (unsigned b = a + 1; b < s.devices; ++b) {
        const float rate = r.rates[r.rates.size() == 1 ? 0 : std::size_t{a} * s.devices + b];
        if (rate >= 0) s.bandwidth.set(a, b, gigabytes_per_second{static_cast<double>(rate)});
      }
    for (const auto& n : r.numas) {
      s.numa.push_back({n.devices, cpus(n.cpus), bytes{}});
      s.cpu += cpus(n.cpus);
    }
    s.pcie_switches.assign(r.switches.begin(), r.switches.end());
    for (const auto& n : r.nics) {
      nic_shape card;
      card.devices = n.devices;
      card.rate = gigabytes_per_second{static_cast<double>(n.gbps)};
      if (n.rail >= 0) card.rail = static_cast<std::uint8_t>(n.rail);
      s.nics.push_back(card);
    }
    for (const auto& h : r.hosts) {
      host_link l{h.devices, std::nullopt};
      if (h.gbps >= 0) l.rate = gigabytes_per_second{static_cast<double>(h.gbps)};
      s.host_links.push_back(l);
    }
    const auto numas = static_cast<unsigned>(r.numas.size());
    s.numa_bandwidth = bandwidth_table{numas};
    for (unsigned a = 0; a < numas; ++a)
      for (unsigned b = a + 1; b < numas; ++b) {
        const float rate = r.between[r.between.size() == 1 ? 0 : std::size_t{a} * numas + b];
        if (rate >= 0) s.numa_bandwidth.set(a, b, gigabytes_per_second{static_cast<double>(rate)});
      }
    return s;
  }
  return std::nullopt;
}
"""


# ---------------------------------------------------------------------------------------------- fabrics

def fabrics(table):
    body = ["// clang-format off", "namespace berth::catalogue {", "", "namespace detail::fabrics {",
            "inline constexpr std::nullopt_t none = std::nullopt;", ""]
    rows = []
    for f in table["fabrics"]:
        word = name(f["id"])
        body.append(f'// {f["title"]}')
        if f["levels"]:
            body.append(f"inline constexpr fabric_level_row {word}_levels[] = {{")
            for l in f["levels"]:
                body.append(f'    {{{l["level"]}, {text(l["name"])}, {text(l["switch"])}, {text(l["scope"])},')
                gbit = l["port_gbit"]
                body.append(f'     {whole(l["ports"])}, {whole(l["down_ports"])}, {whole(l["up_ports"])}, '
                            f'{whole(l.get("down_port_gbit", gbit))}, {whole(l.get("up_port_gbit", gbit))}, {real(l["oversubscription"])}}},')
            body.append("};")
        body.append(f"inline constexpr fabric_domain_row {word}_domains[] = {{")
        for d in f["domains"]:
            body.append(f'    {{{text(d["name"])}, {whole(d["gpus"])}, {whole(d["switch_hops"])}, {real(d["gbps_per_gpu_uni"])}}},')
        body.append("};")
        if f["scale"]:
            body.append(f"inline constexpr fabric_scale_row {word}_scale[] = {{")
            for s in f["scale"]:
                columns = [s.get("su"), s.get("racks"), s.get("nodes", s.get("hosts")), s["gpus"], s.get("leaf"), s.get("spine"),
                           s.get("core"), s.get("node_leaf_cables"), s.get("leaf_spine_cables"), s.get("spine_core_cables")]
                body.append(f'    {{{", ".join(whole(c) for c in columns)}}},')
            body.append("};")
        body.append("")
        span = lambda key: f"detail::fabrics::{word}_{key}" if f[key] else "{}"
        opt = lambda v: "std::nullopt" if v is None else str(v)
        rows += [f'    {{{text(f["id"])}, {text(f["title"])},',
                 f'     {text(f["kind"])},',
                 f'     {text(f["medium"])}, {text(f["node"])}, {f["gpus_per_node"]}, {f["compute_nics_per_node"]}, {f["nic_gbit"]}, '
                 f'{opt(f["rails"])}, {opt(f["planes"])}, {opt(f.get("su_nodes"))}, confidence::{f["confidence"]},',
                 f'     {span("levels")}, {span("domains")},',
                 f'     {span("scale")}}},']
    body += ["}  // namespace detail::fabrics", "",
             "/// Every reference fabric. Columns: id, title, kind; medium, node, GPUs and compute NICs per node, Gb/s per NIC, rails,",
             "/// planes, nodes per scalable unit, confidence; levels, domains, published sizes.",
             "inline constexpr fabric_row fabrics[] = {", *rows, "};", "",
             "/// The fabric of that id, or nullptr. O(rows).",
             "[[nodiscard]] constexpr const fabric_row* find_fabric(std::string_view id) noexcept {",
             "  for (const auto& f : fabrics)", "    if (f.id == id) return &f;", "  return nullptr;", "}", "",
             "}  // namespace berth::catalogue", "// clang-format on"]
    return header(["Reference fabrics as published: levels from the edge up, domains, switch and cable counts by size.",
                   "Levels: level, name, switch, scope; ports, down, up, Gb/s per down port, per up port, oversubscription.",
                   "Domains: name, GPUs, switches crossed, worst-case GB/s per GPU.",
                   "Sizes: scalable units, racks, nodes, GPUs; leaf, spine, core switches; node-leaf, leaf-spine, spine-core cables."],
                  ["<optional>", "<string_view>", "berth/topology/catalogue/rows.hpp"], body, "fabrics.json")


# ---------------------------------------------------------------------------------------------- main

def main(arguments):
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    load = lambda f: json.loads((HERE / f).read_text(encoding="utf-8"))
    nodes = load("nodes.json")
    made = {"gpu_models.hpp": gpu_models(load("gpus.json")), "node_graphs.hpp": node_graphs(nodes),
            "node_shapes.hpp": node_shapes(nodes), "fabrics.hpp": fabrics(load("fabrics.json")),
            "mig_products.hpp": mig_products(load("mig.json"))}
    stale = []
    for file, content in made.items():
        path = OUT / file
        if path.is_file() and path.read_text(encoding="utf-8") == content:
            continue
        stale.append(file)
        if not arguments:
            path.write_text(content, encoding="utf-8")
            print(f"wrote {path}")
    if arguments and stale:
        print("differ from the tables (run .catalogue/generate.py): " + ", ".join(stale), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
