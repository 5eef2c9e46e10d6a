#include "sim/cost/model_spec.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sim/cost/data_file.h"
#include "sim/cost/table_reader.h"

namespace baton::sim {
namespace {

constexpr WholeRange kWidth{1, 1u << 22};
constexpr WholeRange kFew{1, 4096};
constexpr WholeRange kFromZero{0, 4096};

void read_attention(TableReader table, ModelSpec& spec) {
  constexpr std::array<std::pair<std::string_view, AttentionKind>, 2> kKinds{
      {{"grouped", AttentionKind::grouped}, {"latent", AttentionKind::latent}}};
  spec.attention = table.choice("kind", kKinds);
  spec.heads = table.count("heads", kFew);
  if (spec.attention == AttentionKind::latent) {
    spec.kv_heads = spec.heads;
    spec.q_rank = table.count("q_rank", kWidth);
    spec.kv_rank = table.count("kv_rank", kWidth);
    spec.nope_dim = table.count("nope_dim", kFew);
    spec.rope_dim = table.count("rope_dim", kFew);
    spec.value_dim = table.count("value_dim", kFew);
    spec.head_dim = spec.nope_dim + spec.rope_dim;
  } else {
    spec.kv_heads = table.count("kv_heads", kFew);
    spec.head_dim = table.count("head_dim", kFew);
    if (spec.heads % spec.kv_heads != 0) {
      table.refuse("kv_heads", fmt::format("{} heads cannot share {} evenly", spec.heads, spec.kv_heads));
    }
    spec.window = table.count_or("window", 0, {0, 1u << 24});
    spec.window_every = spec.window == 0 ? 0 : table.count("window_every", {1, spec.layers});
  }
  table.finish();
}

void read_ffn(TableReader table, ModelSpec& spec) {
  spec.ffn_width = table.count("width", kWidth);
  spec.gated_ffn = table.flag_or("gated", true);
  table.finish();
}

void read_mixture(TableReader table, ModelSpec& spec) {
  spec.experts = table.count("experts", kFew);
  spec.experts_active = table.count("active", {1, spec.experts});
  spec.experts_shared = table.count_or("shared", 0, kFromZero);
  spec.expert_width = table.count("width", kWidth);
  spec.dense_layers = table.count_or("dense_layers", 0, {0, spec.layers - 1});
  table.finish();
}

// Publishers round; more than this apart is another shape.
constexpr double kTolerance = 0.015;

void check_against(TableReader& table, std::string_view key, double computed, double tolerance) {
  if (!table.has(key)) {
    return;
  }
  const double stated = table.number(key, {1, 1e15});
  if (std::abs(computed - stated) > tolerance * stated) {
    table.refuse(key, fmt::format("{:.6g} is stated, but the shape adds up to {:.6g}", stated, computed));
  }
}

void check_figures(TableReader table, const ModelSpec& spec) {
  for (const std::string_view key : {"parameters", "active_parameters", "kv_bytes_per_token"}) {
    table.number_or(key, 1, {1, 1e15});
  }
  check_against(table, "parameters", spec.parameters(), kTolerance);
  check_against(table, "active_parameters", spec.active_parameters(), kTolerance);
  check_against(table, "kv_bytes_per_token", spec.kv_bytes_per_token(Dtype::bf16), 0);
  table.finish();
}

}  // namespace

double ModelSpec::attention_parameters() const noexcept {
  const double h = hidden;
  const double n = heads;
  if (attention == AttentionKind::grouped) {
    return h * (n + 2.0 * kv_heads) * head_dim + n * head_dim * h;
  }
  return h * q_rank + q_rank * n * (nope_dim + rope_dim) + h * (kv_rank + rope_dim) +
         kv_rank * n * (nope_dim + value_dim) + n * value_dim * h;
}

double ModelSpec::dense_ffn_parameters() const noexcept {
  return ffn_matrices() * hidden * ffn_width;
}

double ModelSpec::expert_parameters() const noexcept {
  return ffn_matrices() * hidden * expert_width;
}

double ModelSpec::router_parameters() const noexcept {
  return static_cast<double>(hidden) * experts;
}

double ModelSpec::embedding_parameters() const noexcept {
  return static_cast<double>(vocabulary) * hidden;
}

double ModelSpec::parameters() const noexcept {
  const double mixture = mixture_layers() * (router_parameters() + (experts + experts_shared) * expert_parameters());
  const double dense = (layers - mixture_layers()) * dense_ffn_parameters();
  return layers * attention_parameters() + dense + mixture + (tied_head ? 1 : 2) * embedding_parameters();
}

double ModelSpec::active_parameters() const noexcept {
  const double active = experts_active + experts_shared;
  const double mixture = mixture_layers() * (router_parameters() + active * expert_parameters());
  const double dense = (layers - mixture_layers()) * dense_ffn_parameters();
  return layers * attention_parameters() + dense + mixture + (tied_head ? 1 : 2) * embedding_parameters();
}

double ModelSpec::kv_layer_bytes(Dtype kv) const noexcept {
  const double elements =
      attention == AttentionKind::latent ? kv_rank + rope_dim : 2.0 * kv_heads * static_cast<double>(head_dim);
  return bytes_of(kv) * elements;
}

double ModelSpec::kv_bytes(std::uint64_t tokens, Dtype kv) const noexcept {
  const double kept = static_cast<double>(window == 0 ? tokens : std::min<std::uint64_t>(tokens, window));
  const double full_layers = layers - windowed_layers();
  return kv_layer_bytes(kv) * (full_layers * static_cast<double>(tokens) + windowed_layers() * kept);
}

ModelSpec parse_model(std::string_view text, const std::string& file) {
  const TomlNode root = parse_toml(text, file);
  TableReader table(root, file);
  ModelSpec spec;
  spec.name = table.word("name");
  table.word_or("source", "");
  spec.layers = table.count("layers", kFew);
  spec.hidden = table.count("hidden", kWidth);
  spec.vocabulary = table.count("vocabulary", kWidth);
  spec.tied_head = table.flag_or("tied_head", false);
  spec.mtp_layers = table.count_or("mtp_layers", 0, {0, 16});
  read_attention(table.table("attention"), spec);
  if (const auto mixture = table.table_or_none("mixture")) {
    read_mixture(*mixture, spec);
  }
  if (!spec.is_mixture() || spec.dense_layers > 0 || table.has("ffn")) {
    read_ffn(table.table("ffn"), spec);
  }
  if (const auto figures = table.table_or_none("published")) {
    check_figures(*figures, spec);
  }
  table.finish();
  return spec;
}

ModelSpec load_model(const std::string& name_or_path) {
  const DataFile file = find_data_file(DataKind::model, name_or_path);
  return parse_model(file.text, file.place);
}

}  // namespace baton::sim
