"""Writes the table of MIG products. Used by generate.py."""

from cpp_text import header, name, text, whole

MIG_VARIANTS = {(): "plain", ("me",): "media", ("mem2x",): "double_memory", ("gfx",): "graphics", ("me.all",): "all_media",
                ("-me",): "no_media"}


def mig_products(table):
    body = ["// clang-format off", "namespace berth::catalogue {", "", "namespace detail::mig {",
            "inline constexpr std::nullopt_t none = std::nullopt;", "using enum mig_variant;", ""]
    known = {}  # the same list of numbers is written once

    def shared(kind, prefix, items):
        if not items:
            return "{}"
        key = (kind, tuple(items))
        if key not in known:
            known[key] = f"{prefix}_{sum(k[0] == kind for k in known)}"
            body.append(f"inline constexpr {kind} {known[key]}[] = {{{', '.join(items)}}};")
        return known[key]

    def engines(e):
        if e is None:
            return "none"
        return f'mig_engines{{{", ".join(str(e[k]) for k in ("copy", "decoder", "encoder", "jpeg", "ofa"))}}}'

    rows = []
    for p in table["products"]:
        word, m, profiles = name(p["id"]), p["mig"], []
        for q in p["profiles"]:
            sizes = {size for _, size in q["placements"] or []}
            assert sizes <= {q["memory_slices"]}, (p["id"], q["name"])
            aliases = q.get("aliases") or [""]
            assert len(aliases) == 1
            starts = shared("std::uint8_t", "starts", [str(s) for s, _ in q["placements"] or []])
            inside = shared("mig_compute_row", "inside", [
                f'{{{c["ci_slices"]}, {c["ci_profile_id"]}, {c["max_in_gi"]}, {whole(c.get("sm_count"))}}}'
                for c in q.get("compute_instances") or []])
            profiles.append(f'    {{{text(q["name"])}, {text(aliases[0])}, {whole(q["profile_id"])}, {q["compute_slices"]}, '
                            f'{whole(q["memory_slices"])}, {whole(q["memory_mib"])}, {whole(q["sm_count"])}, '
                            f'{q["max_instances"]}, {engines(q["engines"])}, {MIG_VARIANTS[tuple(q["attributes"])]},')
            profiles.append(f'     {starts}, confidence::{q["placements_confidence"]}, confidence::{q["confidence"]}, '
                            f'{text(q.get("min_driver"))}, {inside}}},')
        aliases = shared("std::string_view", "names", [text(a) for a in p["aliases"]])
        pci = shared("std::uint32_t", "pci", [i.lower() for i in p["pci_device_ids"]])
        body += [f"inline constexpr mig_profile_row {word}[] = {{", *profiles, "};"]
        shape = (m["geometry"] or "unknown").replace("-", "_")
        reset = m["mode_toggle_needs_gpu_reset"]
        rows += [f'    {{{text(p["id"])}, {text(p["name"])}, {"{}" if aliases == "{}" else "detail::mig::" + aliases},',
                 f'     {text(p["architecture"])}, {text(p["chip"])}, {"{}" if pci == "{}" else "detail::mig::" + pci}, '
                 f'mig_shape::{shape}, {m["max_instances"]}, {whole(m["compute_slices"])}, {whole(m["memory_slices"])}, '
                 f'{engines(m["engines_total"])}, {"std::nullopt" if reset is None else str(reset).lower()}, '
                 f'confidence::{p["confidence"]},',
                 f'     {text(p.get("note"))}, detail::mig::{word}}},']
    rows = [r.replace(" none,", " std::nullopt,") for r in rows]
    body += ["}  // namespace detail::mig", "", "/// Every MIG-capable product.",
             "inline constexpr mig_product_row mig_products[] = {", *rows, "};", "",
             "}  // namespace berth::catalogue", "// clang-format on"]
    return header(["MIG-capable products and their profiles: ids, sizes, starts, memory, SMs, engines, compute instances.",
                   "Profiles: name, alias, id, compute slices, size, MiB, SMs, most on a GPU, engines, variant; starts, confidence",
                   "in starts, in the row, first driver, compute instances (slices, id, most, SMs)."],
                  ["<cstdint>", "<optional>", "<string_view>", "berth/topology/catalogue/mig_rows.hpp"], body, "mig.json")
